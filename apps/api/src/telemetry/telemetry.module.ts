import { type DynamicModule, Module } from '@nestjs/common';
import { BackgroundMetrics } from './background.metrics.js';
import { HttpMetrics } from './http.metrics.js';
import { MetricsController } from './metrics.controller.js';

@Module({ controllers: [MetricsController], providers: [BackgroundMetrics] })
export class TelemetryModule {
  /** The server counts requests before there are modules, so the metrics exist already. */
  static forRoot(metrics: HttpMetrics): DynamicModule {
    const provider = { provide: HttpMetrics, useValue: metrics };
    return { module: TelemetryModule, global: true, providers: [provider], exports: [HttpMetrics] };
  }
}
