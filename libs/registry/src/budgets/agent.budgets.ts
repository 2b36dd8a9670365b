import { Injectable } from '@nestjs/common';
import { BudgetLedger } from './ledger/budget.ledger.js';
import { usageCorrection } from './ledger/correction.js';
import type { Correction } from './ledger/ledger.operation.js';
import { type BudgetSourceChange, BudgetStore, type ReportedTotal } from './store/budget.store.js';
import type { LockedBudgets } from './store/ledger.store.js';

/** The budget that an agent declares when it registers. */
interface DeclaredBudget {
  totalTokens: number | null;
  usedTokens: number;
  source: string;
}

/** A declared budget with its agent and the principal that registered the agent. */
export interface BudgetDeclaration {
  agentId: string;
  declared: DeclaredBudget;
  by: string;
}

/** The budgets of agents. Every agent has at least one budget, which may be unlimited. Budgets survive a new registration. */
@Injectable()
export class AgentBudgets {
  constructor(
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
  ) {}

  /** Locks the budgets of these agents until the transaction ends. */
  async lock(agentIds: readonly string[]): Promise<LockedBudgets> {
    return await this.ledger.lockAgents(agentIds);
  }

  /**
   * Applies declarations to existing budgets, in the transaction of the registrations that locked them. The limit follows the
   * declaration until an operator sets a limit. The usage never decreases.
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
      corrections.push({
        budgetId: total.id,
        as: 'declared',
        ...limit,
        reportedTotal: declared.usedTokens,
        by,
        note: null,
      });
      if (total.source !== declared.source) sources.push({ id: total.id, source: declared.source });
    }
    await Promise.all([this.ledger.correctLocked(locked, corrections), this.store.setSources(sources)]);
  }

  /** Charges usage from the last heartbeats that no sweep has applied yet. Runs in the transaction that deletes the leases. */
  async applyLastReports(agents: readonly ReportedTotal[]): Promise<void> {
    const reports = agents.filter(({ usedTokens }) => usedTokens !== null);
    const ahead = reports.length > 0 ? await this.store.aheadOfLedger(reports) : [];
    await this.ledger.applyAll(ahead.map(usageCorrection));
  }
}
