import { Injectable, Logger } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { type OpenRuns, RunReader } from '#rollcall/agent-runtime';
import { HttpMetrics } from '../telemetry/http.metrics.js';

/** The database is read at most this often, however often the metrics are scraped. */
const SAMPLE_EVERY_MS = 10_000;

/** Metrics of the unfinished runs of the whole installation. They are the same on every replica. */
@Injectable()
export class OpenRunMetrics {
  private readonly log = new Logger('runs');
  private sampledAt = -Infinity;
  private sample: Promise<OpenRuns | undefined> = Promise.resolve(undefined);

  constructor(
    private readonly reader: RunReader,
    { registry }: HttpMetrics,
  ) {
    const registers = [registry];
    const oldest: Gauge = new Gauge({
      name: 'rollcall_runs_oldest_queued_seconds',
      help: 'How long the oldest queued run has waited for a replica, measured at most 10 seconds ago. The same on every replica.',
      registers,
      collect: async () => {
        const sample = await this.current();
        if (sample) oldest.set(sample.oldestQueuedMs / 1_000);
        else oldest.remove();
      },
    });
    const open: Gauge = new Gauge({
      name: 'rollcall_runs',
      help: 'Unfinished runs by state, without delegated runs, measured at most 10 seconds ago. The same on every replica.',
      labelNames: ['state'],
      registers,
      collect: async () => {
        const sample = await this.current();
        open.reset();
        for (const [state, runs] of Object.entries(sample?.runs ?? {})) open.set({ state }, runs);
      },
    });
  }

  private async current(): Promise<OpenRuns | undefined> {
    const now = performance.now();
    if (now - this.sampledAt >= SAMPLE_EVERY_MS) {
      this.sampledAt = now;
      this.sample = this.read();
    }
    return await this.sample;
  }

  /** If the database is unavailable, these metrics are missing, and all other metrics are still served. */
  private async read(): Promise<OpenRuns | undefined> {
    try {
      return await this.reader.open();
    } catch (error) {
      this.log.warn({ event: 'runs.not_measured', err: error });
      return undefined;
    }
  }
}
