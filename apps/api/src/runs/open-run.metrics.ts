import { Injectable } from '@nestjs/common';
import { type OpenRuns, RunReader } from '#rollcall/agent-runtime';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { gauge, single } from '../telemetry/measure.js';

/** The database is read at most this often, however often the metrics are scraped. */
const SAMPLE_EVERY_MS = 10_000;

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
