import { Injectable } from '@nestjs/common';
import { Counter, Histogram } from 'prom-client';
import {
  type MeteredAgent,
  type MeterObserver,
  type OpenRuns,
  RunMeter,
  RunReader,
  type RunStatus,
  type RunUse,
} from '#rollcall/agent-runtime';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { gauge, single } from '../telemetry/measure.js';

const WAIT_BUCKETS_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600];
const DURATION_BUCKETS_S = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600];
/** Definitions beyond this number are counted together, so that the number of series stays bounded. */
const MAX_DEFINITIONS = 100;
const OTHER: AgentLabels = { namespace: 'other', definition: 'other' };
const MICRO = 1_000_000;

type AgentLabels = Record<'namespace' | 'definition', string>;

/** The database is read at most this often, however often the metrics are scraped. */
const SAMPLE_EVERY_MS = 10_000;

/** Counts and times the runs that this replica executes and changes. A delegated run counts for its own definition. */
@Injectable()
export class RunMetrics implements MeterObserver {
  private readonly labels = new Map<string, AgentLabels>();
  private readonly waits: Histogram;
  private readonly durations: Histogram<'namespace' | 'definition'>;
  private readonly ended: Counter<'namespace' | 'definition' | 'state'>;
  private readonly tokens: Counter<'namespace' | 'definition' | 'direction'>;
  private readonly cost: Counter<'namespace' | 'definition'>;

  constructor(meter: RunMeter, { registry }: HttpMetrics) {
    const registers = [registry];
    const labelNames = ['namespace', 'definition'] as const;
    this.waits = new Histogram({
      name: 'rollcall_run_queue_duration_seconds',
      help: 'Time from the start of a run until a replica executes it.',
      buckets: WAIT_BUCKETS_S,
      registers,
    });
    this.durations = new Histogram({
      name: 'rollcall_run_duration_seconds',
      help: 'Time from the first execution of a run to its end, including the time in which it waited for its caller.',
      labelNames,
      buckets: DURATION_BUCKETS_S,
      registers,
    });
    this.ended = new Counter({
      name: 'rollcall_runs_finished_total',
      help: 'Finished runs, by their final state.',
      labelNames: [...labelNames, 'state'],
      registers,
    });
    this.tokens = new Counter({
      name: 'rollcall_run_tokens_total',
      help: 'Tokens that runs have used, as the vendors report them.',
      labelNames: [...labelNames, 'direction'],
      registers,
    });
    this.cost = new Counter({
      name: 'rollcall_run_cost_usd_total',
      help: 'What runs have cost, in US dollars. Calls of models without prices are not included.',
      labelNames,
      registers,
    });
    meter.observe(this);
  }

  started(waitedMs: number): void {
    this.waits.observe(Math.max(0, waitedMs) / 1_000);
  }

  finished(agent: MeteredAgent, state: RunStatus, tookMs: number | null): void {
    const labels = this.labelsOf(agent);
    this.ended.inc({ ...labels, state });
    if (tookMs !== null) this.durations.observe(labels, tookMs / 1_000);
  }

  used(agent: MeteredAgent, { inputTokens = 0, outputTokens = 0, microUsd = 0 }: RunUse): void {
    const labels = this.labelsOf(agent);
    this.tokens.inc({ ...labels, direction: 'input' }, inputTokens);
    this.tokens.inc({ ...labels, direction: 'output' }, outputTokens);
    this.cost.inc(labels, microUsd / MICRO);
  }

  private labelsOf({ namespace, definition }: MeteredAgent): AgentLabels {
    const key = `${namespace}/${definition ?? ''}`;
    const known = this.labels.get(key);
    if (known || this.labels.size >= MAX_DEFINITIONS) return known ?? OTHER;
    const labels = { namespace, definition: definition ?? '' };
    this.labels.set(key, labels);
    return labels;
  }
}

/** Metrics of the unfinished runs of the whole installation. They are the same on every replica. */
@Injectable()
export class OpenRunMetrics {
  private sampledAt = -Infinity;
  private sample?: Promise<OpenRuns>;

  constructor(
    private readonly reader: RunReader,
    { registry }: HttpMetrics,
  ) {
    const oldest = {
      name: 'rollcall_runs_oldest_queued_seconds',
      help: 'How long the oldest queued run has waited for a replica, measured at most 10 seconds ago. The same on every replica.',
    };
    gauge(registry, oldest, async () => single((await this.current()).oldestQueuedMs / 1_000));
    const open = {
      name: 'rollcall_runs',
      help: 'Unfinished runs by state, without delegated runs, measured at most 10 seconds ago. The same on every replica.',
      labels: ['state'],
    } as const;
    gauge(registry, open, async () =>
      Object.entries((await this.current()).runs).map(([state, runs]) => [runs, { state }]),
    );
  }

  private async current(): Promise<OpenRuns> {
    const now = performance.now();
    if (!this.sample || now - this.sampledAt >= SAMPLE_EVERY_MS) {
      this.sampledAt = now;
      this.sample = this.reader.open();
    }
    return await this.sample;
  }
}
