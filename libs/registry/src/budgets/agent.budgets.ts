import { Injectable } from '@nestjs/common';
import { NOTHING } from './budget.js';
import { BudgetEvents } from './budget.events.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import { nextWindow } from './budget.window.js';
import { takingIn, type ToldUsage } from './usage.report.js';

/** What an agent says of its budget when it registers. */
export interface DeclaredBudget {
  totalTokens: number | null;
  usedTokens: number;
  source: string;
}

const NO_LIMIT = { tokens: null, microUsd: null };

/** Every agent has a budget, if only to count. It outlives the agent: who leaves and comes back goes on where it was. */
@Injectable()
export class AgentBudgets {
  constructor(
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
    private readonly events: BudgetEvents,
  ) {}

  /**
   * In the transaction of the registration. The limit follows what the agent declares until an operator has set one; use is
   * only ever counted up.
   */
  async declare(agentId: string, declared: DeclaredBudget, by: string): Promise<void> {
    const { totalTokens, usedTokens, source } = declared;
    const limit = { ...NO_LIMIT, tokens: totalTokens };
    const facts = { kind: 'agent' as const, subject: agentId, window: 'total' as const, timeZone: 'UTC', path: [] };
    const used = { ...NOTHING, tokens: usedTokens };
    const made = await this.store.insert(
      { ...facts, limit, low: NO_LIMIT, used, source, declared: true, by },
      nextWindow('total', await this.store.now(), 'UTC'),
    );
    if (made) return this.events.announce([made]);
    await this.redeclare(agentId, declared, by);
  }

  /** In the transaction that ends their leases: what the last beats told and no sweep has taken in yet is not lost. */
  async takeLastReports(leavers: readonly ToldUsage[]): Promise<void> {
    const told = leavers.filter(({ usedTokens }) => usedTokens !== null);
    const ahead = told.length > 0 ? await this.store.behind(told) : [];
    await this.ledger.applyAll(ahead.map(takingIn));
  }

  private async redeclare(
    agentId: string,
    { totalTokens, usedTokens, source }: DeclaredBudget,
    by: string,
  ): Promise<void> {
    const readings = await this.store.findOf('agent', agentId);
    const total = readings.find(({ budget }) => budget.window === 'total')?.budget;
    if (!total) return;
    await this.store.setSource(total.id, source);
    const limit = total.declared ? { limit: { tokens: totalTokens } } : {};
    const usedAtLeast = { tokens: usedTokens };
    await this.ledger.correct({ budgetId: total.id, as: 'declared', ...limit, usedAtLeast, by, note: null });
  }
}
