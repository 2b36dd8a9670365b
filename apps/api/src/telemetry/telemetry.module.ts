import { type DynamicModule, Module } from '@nestjs/common';
import { BackgroundMetrics } from './background.metrics.js';
import { DatabaseMetrics } from './database.metrics.js';
import { HttpMetrics } from './http.metrics.js';
import { MetricsController } from './metrics.controller.js';
import { TerminalEvents } from './terminal.events.js';
import { TerminalSummary } from './terminal.summary.js';

@Module({ controllers: [MetricsController], providers: [BackgroundMetrics, DatabaseMetrics, TerminalEvents] })
export class TelemetryModule {
  /** The server is created before the modules and needs the metrics, so they are passed in. */
  static forRoot(metrics: HttpMetrics, summary?: TerminalSummary): DynamicModule {
    const providers = [
      { provide: HttpMetrics, useValue: metrics },
      { provide: TerminalSummary, useValue: summary },
    ];
    return { module: TelemetryModule, global: true, providers, exports: [HttpMetrics] };
  }
}
