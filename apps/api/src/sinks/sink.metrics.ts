import { Injectable, Logger } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { DeliveryCounts, SinksService, type SinkStatus } from '#rollcall/platform';
import { HttpMetrics } from '../telemetry/http.metrics.js';

/** The lag of sinks and the deliveries of this replica, read when the metrics are scraped. */
@Injectable()
export class SinkMetrics {
  private readonly log = new Logger('sinks');
  constructor(
    private readonly sinks: SinksService,
    counts: DeliveryCounts,
    { registry }: HttpMetrics,
  ) {
    const registers = [registry];
    const tried: Counter = new Counter({
      name: 'rollcall_sink_deliveries_total',
      help: 'Events that this replica tried to deliver, by outcome.',
      labelNames: ['kind', 'outcome'],
      registers,
      collect: () => {
        tried.reset();
        for (const { kind, result, events } of counts.all()) tried.inc({ kind, outcome: result }, events);
      },
    });
    const behind: Gauge = new Gauge({
      name: 'rollcall_sink_lag_seconds',
      help: 'How long the oldest undelivered event of a sink has waited. The same on every replica.',
      labelNames: ['sink', 'kind', 'state', 'namespace'],
      registers,
    });
    const labels = ['sink', 'kind', 'namespace'];
    const parked: Gauge = new Gauge({
      name: 'rollcall_sink_parked_events',
      help: 'Events whose delivery failed permanently.',
      labelNames: labels,
      registers,
    });
    const lag: Gauge = new Gauge({
      name: 'rollcall_sink_lag_events',
      help: 'How many events a sink is behind the log. The same on every replica.',
      labelNames: labels,
      registers,
      collect: async () => this.fill(await this.statuses(), lag, behind, parked),
    });
  }

  private fill(statuses: SinkStatus[], lag: Gauge, behind: Gauge, parked: Gauge): void {
    for (const gauge of [lag, behind, parked]) gauge.reset();
    for (const { id: sink, kind, namespace, state, head, cursor, lagMs, parked: parkedEvents } of statuses) {
      const labels = { sink, kind, namespace };
      lag.set(labels, Math.max(0, head - cursor));
      behind.set({ ...labels, state }, (lagMs ?? 0) / 1_000);
      parked.set(labels, parkedEvents);
    }
  }

  /** If the database is unavailable, the metrics of sinks are missing, and all other metrics are still served. */
  private async statuses(): Promise<SinkStatus[]> {
    try {
      return await this.sinks.list();
    } catch (error) {
      this.log.warn({ event: 'sinks.not_measured', err: error });
      return [];
    }
  }
}
