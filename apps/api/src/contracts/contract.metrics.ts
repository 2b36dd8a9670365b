import { Injectable } from '@nestjs/common';
import { ContractCounts, ContractsService } from '#rollcall/registry';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { counter, gauge } from '../telemetry/measure.js';

/** The metrics of contracts. Their values are read when the metrics are scraped. */
@Injectable()
export class ContractMetrics {
  constructor(contracts: ContractsService, counts: ContractCounts, { registry }: HttpMetrics) {
    const events = {
      name: 'rollcall_contract_events_total',
      help: 'What this replica has committed about contracts: announced, answered, late, awarded, lapsed, confirmed, expired …',
      labels: ['event', 'reason'],
    } as const;
    counter(registry, events, () => counts.all().map(({ event, reason, count }) => [count, { event, reason }]));
    const open = {
      name: 'rollcall_contracts_open',
      help: 'Contracts that have not ended, by state. The same on every replica.',
      labels: ['state'],
    } as const;
    gauge(registry, open, async () =>
      (await contracts.countOpen()).map(({ state, contracts: count }) => [count, { state }]),
    );
  }
}
