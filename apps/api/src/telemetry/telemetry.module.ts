import { type DynamicModule, Module } from '@nestjs/common';
import { BackgroundMetrics } from './background.metrics.js';
import { HttpMetrics } from './http.metrics.js';
import { MetricsController } from './metrics.controller.js';

@Module({ controllers: [MetricsController], providers: [BackgroundMetrics] })
export class TelemetryModule {
  /** The server is created before the modules and needs the metrics, so they are passed in. */
  static forRoot(metrics: HttpMetrics): DynamicModule {
    const provider = { provide: HttpMetrics, useValue: metrics };
    return { module: TelemetryModule, global: true, providers: [provider], exports: [HttpMetrics] };
  }
}
