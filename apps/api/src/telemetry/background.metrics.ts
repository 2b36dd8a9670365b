import { Injectable } from '@nestjs/common';
import { Counter } from 'prom-client';
import { BackgroundFaults } from '#rollcall/platform';
import { HttpMetrics } from './http.metrics.js';

/** Failures of background work, read when the metrics are scraped. */
@Injectable()
export class BackgroundMetrics {
  constructor(faults: BackgroundFaults, { registry }: HttpMetrics) {
    const failed: Counter = new Counter({
      name: 'rollcall_background_failures_total',
      help: 'Failed passes of background work, such as sweeps and the event sequencer. Each pass is repeated.',
      labelNames: ['part'],
      registers: [registry],
      collect: () => {
        failed.reset();
        for (const [part, count] of faults.totals()) failed.inc({ part }, count);
      },
    });
  }
}
