import { type DynamicModule, Module } from '@nestjs/common';
import { HttpMetrics } from './http.metrics.js';
import { MetricsController } from './metrics.controller.js';
import { PlatformMetrics } from './platform.metrics.js';
import { TerminalEvents, TerminalSummary } from './terminal.js';

@Module({ controllers: [MetricsController], providers: [PlatformMetrics, TerminalEvents] })
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
