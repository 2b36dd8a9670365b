import { Injectable } from '@nestjs/common';
import { AgentBudgets, type BudgetDeclaration } from '../budgets/agent.budgets.js';
import type { LockedBudgets } from '../budgets/ledger.store.js';
import { AgentEvents } from './agent.events.js';
import type { AgentRow } from './agent.row.js';
import { AgentStore } from './agent.store.js';
import { newAgentRow, type WrittenRegistration } from './registered.row.js';
import type { Accepted, BatchFacts, Joining } from './registration.batch.js';
import { RegistrationStore } from './registration.store.js';

/** The state that the decisions of a batch are based on, and the budgets that are locked for it. */
export interface LockedBatch {
  facts: BatchFacts;
  budgets: LockedBudgets;
}

export interface LockOptions {
  /** Whether to wait for rows that other transactions have locked. */
  wait: boolean;
  /** The principals whose live agents are counted. */
  owners: readonly string[];
  /** Counts at most this many agents of each principal. */
  countAtMost: number;
  /** The namespaces to check, because they may be deleted or full. */
  namespaces: readonly string[];
}

/** Locks, reads and writes everything that a batch of registrations concerns, in the transaction of the caller. */
@Injectable()
export class RegistrationWriter {
  constructor(
    private readonly agents: AgentStore,
    private readonly registrations: RegistrationStore,
    private readonly budgets: AgentBudgets,
    private readonly events: AgentEvents,
  ) {}

  /**
   * Locks and reads in the order that all writers use: namespaces, principals, agents, budgets. It takes one round trip, or two with
   * `wait`. A generated agentId is not looked up; if it exists nevertheless, its insert fails, and the registration is decided again
   * with `wait`.
   */
  async lock(batch: readonly Joining[], options: LockOptions): Promise<LockedBatch> {
    const { wait, owners, countAtMost } = options;
    const agentIds = batch.filter(({ isProposed }) => wait || isProposed).map(({ agentId }) => agentId);
    const [namespaces, , owned, locked, rows, now, lockedBudgets] = await Promise.all([
      this.registrations.lockNamespaces(options.namespaces, agentIds),
      this.registrations.lockOwners(owners),
      this.registrations.countOwned(owners, agentIds, countAtMost),
      this.agents.lockMany(agentIds, wait),
      this.agents.findMany(agentIds),
      this.agents.now(),
      wait ? undefined : this.budgets.lock(agentIds),
    ]);
    // With `wait`, only the budgets of locked agents: a lock on the budget of an agent inserted after `lockMany` could cause a deadlock.
    const budgets = lockedBudgets ?? (await this.budgets.lock([...locked]));
    return { facts: { rows, locked, now, owned, namespaces }, budgets };
  }

  /** Returns the written rows by agentId. An agent that lost an insert race is missing. */
  async write(accepted: readonly Accepted[], budgets: LockedBudgets, now: number): Promise<Map<string, AgentRow>> {
    if (accepted.length === 0) return new Map();
    const totals = budgets.budgets.filter(({ window }) => window === 'total');
    const withBudget = new Set(totals.map(({ subject }) => subject));
    const hasBudget = ({ joining }: Accepted): boolean => withBudget.has(joining.agentId);
    const returning = accepted.filter(({ before }) => before);
    const [written, , read] = await Promise.all([
      this.registrations.write(accepted, withBudget),
      this.budgets.redeclare(returning.filter(hasBudget).map(declarationOf), budgets),
      this.read(returning),
    ]);
    const results = new Map(written.map((one) => [one.agentId, one]));
    const resultOf = ({ joining }: Accepted): WrittenRegistration | undefined => results.get(joining.agentId);
    const built = accepted.flatMap((one) => (one.before ? [] : rowOf(one, resultOf(one))));
    const unlockedBudgets = accepted.filter(
      (one) => resultOf(one)?.budgetId === null && !(one.before && hasBudget(one)),
    );
    const rows = [...read, ...built, ...(await this.redeclareUnlocked(unlockedBudgets))];
    const byId = new Map(rows.map((row) => [row.agentId, row]));
    await this.events.joined(
      accepted.map(({ joining, before }) => ({ row: byId.get(joining.agentId), before })),
      now,
    );
    return byId;
  }

  /** For budgets that were not locked with the batch: their agent was deleted earlier, or an operator has just opened them. */
  private async redeclareUnlocked(unlocked: readonly Accepted[]): Promise<AgentRow[]> {
    if (unlocked.length === 0) return [];
    const budgets = await this.budgets.lock(unlocked.map(({ joining }) => joining.agentId));
    await this.budgets.redeclare(unlocked.map(declarationOf), budgets);
    return await this.read(unlocked);
  }

  private async read(accepted: readonly Accepted[]): Promise<AgentRow[]> {
    return await this.agents.findMany(accepted.map(({ joining }) => joining.agentId));
  }
}

function rowOf(accepted: Accepted, written: WrittenRegistration | undefined): AgentRow[] {
  return written ? [newAgentRow(accepted, written)] : [];
}

function declarationOf({ joining }: Accepted): BudgetDeclaration {
  return { agentId: joining.agentId, declared: joining.facts.budget, by: joining.registeredBy };
}
