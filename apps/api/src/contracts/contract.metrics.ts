import { Injectable, Logger } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { ContractCounts, ContractsService } from '#rollcall/registry';
import { HttpMetrics } from '../telemetry/http.metrics.js';

/** The metrics of contracts. Their values are read when the metrics are scraped. */
@Injectable()
export class ContractMetrics {
  private readonly log = new Logger('contracts');

  constructor(
    private readonly contracts: ContractsService,
    counts: ContractCounts,
    { registry }: HttpMetrics,
  ) {
    const events: Counter = new Counter({
      name: 'rollcall_contract_events_total',
      help: 'What this replica has committed about contracts: announced, answered, late, awarded, lapsed, confirmed, expired …',
      labelNames: ['event', 'reason'],
      registers: [registry],
      collect: () => {
        events.reset();
        for (const { event, reason, count } of counts.all()) events.inc({ event, reason }, count);
      },
    });
    const open: Gauge = new Gauge({
      name: 'rollcall_contracts_open',
      help: 'Contracts that have not ended, by state. The same on every replica.',
      labelNames: ['state'],
      registers: [registry],
      collect: async () => await this.measure(open),
    });
  }

  /** If the database is unavailable, this metric is missing, and all other metrics are still served. */
  private async measure(open: Gauge): Promise<void> {
    open.reset();
    try {
      for (const { state, contracts } of await this.contracts.countOpen()) open.set({ state }, contracts);
    } catch (error) {
      this.log.warn({ event: 'contracts.not_measured', err: error });
    }
  }
}
