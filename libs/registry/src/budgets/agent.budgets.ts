import { Injectable } from '@nestjs/common';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore, type BudgetSourceChange } from './budget.store.js';
import type { Correction } from './correction.js';
import type { LockedBudgets } from './ledger.store.js';
import { usageCorrection, type ReportedTotal } from './usage.report.js';

/** What an agent says of its budget when it registers. */
export interface DeclaredBudget {
  totalTokens: number | null;
  usedTokens: number;
  source: string;
}

/** What the registration of an agent declares. */
export interface BudgetDeclaration {
  agentId: string;
  declared: DeclaredBudget;
  by: string;
}

/** Every agent has a budget, if only to count. It outlives the agent: who leaves and comes back goes on where it was. */
@Injectable()
export class AgentBudgets {
  constructor(
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
  ) {}

  /** Locked until the transaction ends, with the fleet's clock. */
  async lock(agentIds: readonly string[]): Promise<LockedBudgets> {
    return await this.ledger.lockAgents(agentIds);
  }

  /**
   * In the transaction of registrations, for budgets that exist already and are locked. The limit follows what the agent
   * declares until an operator has set one; use is only ever counted up.
   */
  async redeclare(declarations: readonly BudgetDeclaration[], locked: LockedBudgets): Promise<void> {
    const totals = new Map(
      locked.budgets.filter(({ window }) => window === 'total').map((budget) => [budget.subject, budget]),
    );
    const corrections: Correction[] = [];
    const sources: BudgetSourceChange[] = [];
    for (const { agentId, declared, by } of declarations) {
      const total = totals.get(agentId);
      if (!total) continue;
      const limit = total.declared ? { limit: { tokens: declared.totalTokens } } : {};
      const usedAtLeast = { tokens: declared.usedTokens };
      corrections.push({ budgetId: total.id, as: 'declared', ...limit, usedAtLeast, by, note: null });
      if (total.source !== declared.source) sources.push({ id: total.id, source: declared.source });
    }
    await Promise.all([this.ledger.correctLocked(locked, corrections), this.store.setSources(sources)]);
  }

  /** In the transaction that ends their leases: what the last beats told and no sweep has taken in yet is not lost. */
  async applyLastReports(leavers: readonly ReportedTotal[]): Promise<void> {
    const told = leavers.filter(({ usedTokens }) => usedTokens !== null);
    const ahead = told.length > 0 ? await this.store.behind(told) : [];
    await this.ledger.applyAll(ahead.map(usageCorrection));
  }
}
