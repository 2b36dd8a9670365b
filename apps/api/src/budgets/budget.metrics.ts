import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import { BudgetStatus } from '#rollcall/registry';
import { HttpMetrics } from '../telemetry/http.metrics.js';
import { counter, gauge, once, single } from '../telemetry/measure.js';

/** The use of budgets. Budgets of agents, callers and runs have no series of their own: there are too many. */
@Injectable()
export class BudgetMetrics {
  constructor({ counts }: Database, status: BudgetStatus, { registry }: HttpMetrics) {
    const held = once(async () => await status.held());
    const reserved = { name: 'rollcall_budget_reservations_total', help: 'Reservations that this replica granted.' };
    counter(registry, reserved, () => single(counts.get('budget.reserved')));
    const refused = {
      name: 'rollcall_budget_refusals_total',
      help: 'Reservations that this replica rejected because a budget was exhausted.',
    };
    counter(registry, refused, () => single(counts.get('budget.refused')));
    const tokens = { name: 'rollcall_budget_tokens_total', help: 'Tokens that settlements of this replica charged.' };
    counter(registry, tokens, () => single(counts.get('budget.tokens')));
    const money = { name: 'rollcall_budget_usd_total', help: 'US dollars that settlements of this replica charged.' };
    counter(registry, money, () => single(counts.get('budget.micro_usd') / 1e6));
    const open = {
      name: 'rollcall_budget_reservations_held',
      help: 'Reservations that are held now. The same on every replica.',
    };
    gauge(registry, open, async () => single((await held()).count));
    const heldTokens = {
      name: 'rollcall_budget_tokens_held',
      help: 'Tokens of the reservations that are held now. The same on every replica.',
    };
    gauge(registry, heldTokens, async () => single((await held()).tokens));
    const ratio = {
      name: 'rollcall_budget_used_ratio',
      help: 'The used and reserved share of each budget of the fleet and of a namespace. The same on every replica.',
      labels: ['kind', 'subject', 'window', 'unit'],
    } as const;
    gauge(registry, ratio, async () => (await status.shared()).map(({ ratio: share, ...labels }) => [share, labels]));
  }
}
