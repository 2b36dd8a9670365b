import { Database, DatabaseBusyError, DatabaseUnavailableError, DomainError, GroupCommit } from '#rollcall/platform';
import type { AgentBudgets, BudgetDeclaration } from '../budgets/agent.budgets.js';
import type { LockedBudgets } from '../budgets/ledger.store.js';
import { QuotaWatch } from '../quota.watch.js';
import type { AgentEvents } from './agent.events.js';
import type { AgentRecord } from './agent.record.js';
import { type AgentRow, toRecord } from './agent.row.js';
import type { AgentStore } from './agent.store.js';
import { newAgentRow, type WrittenRegistration } from './registered.row.js';
import {
  type Accepted,
  type AgentRules,
  type BatchFacts,
  type Joining,
  RegistrationBatch,
} from './registration.batch.js';
import type { RegistrationStore } from './registration.store.js';

export interface Joined {
  record: AgentRecord;
  /** The agent authenticates its writes with this token. A registration that sends it keeps it. */
  leaseToken: string;
}

export type JoinResult = { state: 'joined'; joined: Joined } | { state: 'rejected'; error: Error };
type Attempt = JoinResult | { state: 'contended' };

interface Stores {
  agents: AgentStore;
  registrations: RegistrationStore;
}

const LARGEST_BATCH = 250;
const MAX_ATTEMPTS = 5;
const CONTENDED: Attempt = { state: 'contended' };

/**
 * Commits registrations in groups. One transaction of three round trips locks and reads, decides in memory, and writes agents,
 * leases, budgets and events. A batch never waits for an agent that another transaction has locked: a separate transaction
 * decides that registration, so that it does not delay the others.
 */
export class RegistrationGroup {
  private readonly group: GroupCommit<Joining, Attempt>;
  private readonly watch: QuotaWatch;

  constructor(
    private readonly db: Database,
    private readonly stores: Stores,
    private readonly events: AgentEvents,
    private readonly budgets: AgentBudgets,
    private readonly rules: AgentRules,
  ) {
    this.watch = new QuotaWatch(rules.quota);
    this.group = new GroupCommit<Joining, Attempt>(db, {
      name: 'registrations',
      largestBatch: LARGEST_BATCH,
      keyOf: ({ agentId }) => agentId,
      commit: async (batch) => await this.attempt(batch, false),
      failure: (error) => ({ state: 'rejected', error: error instanceof Error ? error : new Error(String(error)) }),
      failsAll: (error) => error instanceof DatabaseUnavailableError,
      mayBeOneItem: (error) => !(error instanceof DomainError),
    });
  }

  /** Resolves when no batch is in progress. */
  async idle(): Promise<void> {
    await this.group.idle();
  }

  /** Returns one result for each registration. Inside a transaction of the caller, they are part of that transaction. */
  async register(all: readonly Joining[]): Promise<JoinResult[]> {
    if (this.db.inTransaction) return await this.registerInside(all);
    const attempts = await this.group.runAll(all);
    return await Promise.all(
      attempts.map(async (attempt, index) => (attempt.state === 'contended' ? await this.alone(all[index]) : attempt)),
    );
  }

  /** Decides several registrations of one agentId in the given order. */
  private async registerInside(all: readonly Joining[]): Promise<JoinResult[]> {
    const results: JoinResult[] = [];
    for (const round of roundsOf(all)) {
      const attempts = await this.attempt(
        round.map((index) => all[index]),
        true,
      );
      for (const [place, attempt] of attempts.entries()) {
        const index = round[place];
        results[index] = attempt.state === 'contended' ? await this.alone(all[index]) : attempt;
      }
    }
    return results;
  }

  private async alone(joining: Joining): Promise<JoinResult> {
    for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
      try {
        const [attempt = CONTENDED] = await this.attempt([joining], true);
        if (attempt.state !== 'contended') return attempt;
      } catch (error) {
        if (this.db.inTransaction || !(error instanceof Error)) throw error;
        return { state: 'rejected', error };
      }
    }
    return {
      state: 'rejected',
      error: new DatabaseBusyError('several callers register this agentId at the same time'),
    };
  }

  /** Runs one transaction. It waits for rows that other transactions have locked, or, without `wait`, returns `contended`. */
  private async attempt(batch: readonly Joining[], wait: boolean): Promise<Attempt[]> {
    return await this.db.transaction(async () => {
      const { facts, budgets } = await this.lock(batch, wait);
      const decider = new RegistrationBatch(facts, this.rules);
      const decisions = batch.map((joining) => decider.decide(joining));
      const accepted = decisions.flatMap((one) => (one.state === 'accepted' ? [one.accepted] : []));
      const rows = await this.write(accepted, budgets, facts.now);
      return decisions.map((decision): Attempt => {
        if (decision.state !== 'accepted') return decision;
        const { agentId, leaseToken } = decision.accepted.joining;
        const row = rows.get(agentId);
        return row ? { state: 'joined', joined: { record: toRecord(row, facts.now), leaseToken } } : CONTENDED;
      });
    });
  }

  /**
   * Locks and reads in one round trip, in the order that all writers use: principals, agents, budgets. A generated agentId is not
   * looked up; if it exists all the same, its insert fails, and the registration is decided again with `wait`.
   */
  private async lock(batch: readonly Joining[], wait: boolean): Promise<{ facts: BatchFacts; budgets: LockedBudgets }> {
    const { agents, registrations } = this.stores;
    const agentIds = batch.filter(({ isProposed }) => wait || isProposed).map(({ agentId }) => agentId);
    const owners = this.ownersToCount(batch);
    const [, owned, locked, rows, now, budgets] = await Promise.all([
      registrations.lockOwners(owners),
      registrations.countOwned(owners, agentIds, this.rules.quota.limit),
      agents.lockMany(agentIds, wait),
      agents.findMany(agentIds),
      agents.now(),
      this.budgets.lock(agentIds),
    ]);
    for (const owner of owners) this.watch.noteCount(owner, (owned[owner] ?? 0) + batch.length); // an upper bound
    return { facts: { rows, locked, now, owned }, budgets };
  }

  private ownersToCount(batch: readonly Joining[]): string[] {
    const asked = new Map<string, number>();
    for (const { registeredBy: owner } of batch) asked.set(owner, (asked.get(owner) ?? 0) + 1);
    return [...asked].filter(([owner, count]) => this.watch.mustCount(owner, count)).map(([owner]) => owner);
  }

  /** Returns the written rows by agentId. An agent that lost an insert race is missing. */
  private async write(
    accepted: readonly Accepted[],
    budgets: LockedBudgets,
    now: number,
  ): Promise<Map<string, AgentRow>> {
    if (accepted.length === 0) return new Map();
    const totals = budgets.budgets.filter(({ window }) => window === 'total');
    const withBudget = new Set(totals.map(({ subject }) => subject));
    const hasBudget = ({ joining }: Accepted): boolean => withBudget.has(joining.agentId);
    const returning = accepted.filter(({ before }) => before);
    const [written, , read] = await Promise.all([
      this.stores.registrations.write(accepted, withBudget),
      this.budgets.redeclare(returning.filter(hasBudget).map(declarationOf), budgets),
      this.read(returning),
    ]);
    const results = new Map(written.map((one) => [one.agentId, one]));
    const resultOf = ({ joining }: Accepted): WrittenRegistration | undefined => results.get(joining.agentId);
    const built = accepted.flatMap((one) => (one.before ? [] : rowOf(one, resultOf(one))));
    const late = accepted.filter((one) => resultOf(one)?.budgetId === null && !(one.before && hasBudget(one)));
    const rows = [...read, ...built, ...(await this.redeclareLate(late))];
    const byId = new Map(rows.map((row) => [row.agentId, row]));
    await this.events.joined(
      accepted.map(({ joining, before }) => ({ row: byId.get(joining.agentId), before })),
      now,
    );
    return byId;
  }

  /** For budgets that were not locked with the batch: their agent was deleted earlier, or an operator has just opened them. */
  private async redeclareLate(late: readonly Accepted[]): Promise<AgentRow[]> {
    if (late.length === 0) return [];
    const budgets = await this.budgets.lock(late.map(({ joining }) => joining.agentId));
    await this.budgets.redeclare(late.map(declarationOf), budgets);
    return await this.read(late);
  }

  private async read(accepted: readonly Accepted[]): Promise<AgentRow[]> {
    return await this.stores.agents.findMany(accepted.map(({ joining }) => joining.agentId));
  }
}

function rowOf(accepted: Accepted, written: WrittenRegistration | undefined): AgentRow[] {
  return written ? [newAgentRow(accepted, written)] : [];
}

function declarationOf({ joining }: Accepted): BudgetDeclaration {
  return { agentId: joining.agentId, declared: joining.facts.budget, by: joining.registeredBy };
}

/** Splits the indexes into rounds of limited size. A round has each agentId once; the order within one agentId is kept. */
function roundsOf(all: readonly Joining[]): number[][] {
  const rounds: number[][] = [];
  const next = new Map<string, number>();
  for (const [index, { agentId }] of all.entries()) {
    let round = next.get(agentId) ?? 0;
    while ((rounds[round]?.length ?? 0) >= LARGEST_BATCH) round += 1;
    next.set(agentId, round + 1);
    (rounds[round] ??= []).push(index);
  }
  return rounds;
}
