import { Injectable } from '@nestjs/common';
import {
  Database,
  DatabaseBusyError,
  DEFAULT_NAMESPACE,
  GroupCommit,
  NamespaceCatalog,
  namespaceOf,
} from '#rollcall/platform';
import { AgentBudgets, type BudgetDeclaration } from '../../budgets/agent.budgets.js';
import type { LockedBudgets } from '../../budgets/store/ledger.store.js';
import { QuotaWatch } from '../../owner.quota.js';
import { AgentEvents } from '../agent.events.js';
import type { AgentRecord } from '../agent.record.js';
import { type AgentRow, AgentStore, toRecord } from '../agent.store.js';
import { GROUP_FAILURE, MAX_ATTEMPTS } from '../group.failure.js';
import {
  type Accepted,
  type AgentRules,
  type BatchFacts,
  type Joining,
  RegistrationBatch,
} from './registration.batch.js';
import { ReservedNames } from './reserved.names.js';
import { newAgentRow, RegistrationStore, type WrittenRegistration } from './registration.store.js';

/** The state that the decisions of a batch are based on, and the budgets that are locked for it. */
interface LockedBatch {
  facts: BatchFacts;
  budgets: LockedBudgets;
}

interface LockOptions {
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
    private readonly reservedNames: ReservedNames,
  ) {}

  /**
   * Locks and reads in the order that all writers use: namespaces, principals, agents, budgets. It takes one round trip, or two with
   * `wait`. A generated agentId is not looked up; if it exists nevertheless, its insert fails, and the registration is decided again
   * with `wait`.
   */
  async lock(batch: readonly Joining[], options: LockOptions): Promise<LockedBatch> {
    const { wait, owners, countAtMost } = options;
    const agentIds = batch.filter(({ isProposed }) => wait || isProposed).map(({ agentId }) => agentId);
    const checked = batch.filter(({ isProposed, mayUseReserved }) => isProposed && !mayUseReserved);
    const [reserved, namespaces, , owned, locked, rows, now, lockedBudgets] = await Promise.all([
      this.reservedNames.among(checked.map(({ agentId }) => agentId)),
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
    return { facts: { rows, locked, reserved, now, owned, namespaces }, budgets };
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
      this.budgets.redeclare(returning.filter(hasBudget).map(budgetDeclarationOf), budgets),
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
    await this.budgets.redeclare(unlocked.map(budgetDeclarationOf), budgets);
    return await this.read(unlocked);
  }

  private async read(accepted: readonly Accepted[]): Promise<AgentRow[]> {
    return await this.agents.findMany(accepted.map(({ joining }) => joining.agentId));
  }
}

function rowOf(accepted: Accepted, written: WrittenRegistration | undefined): AgentRow[] {
  return written ? [newAgentRow(accepted, written)] : [];
}

function budgetDeclarationOf({ joining }: Accepted): BudgetDeclaration {
  return { agentId: joining.agentId, declared: joining.facts.budget, by: joining.registeredBy };
}

export interface Joined {
  record: AgentRecord;
  /** The agent authenticates its writes with this token. An agent that sends this token when it registers again keeps the token. */
  leaseToken: string;
}

export type JoinResult = { state: 'joined'; joined: Joined } | { state: 'rejected'; error: Error };
type Attempt = JoinResult | { state: 'contended' };

const MAX_BATCH = 250;
/** With two groups, Postgres writes the registrations of one batch request while this process prepares those of another. */
const BATCH_GROUPS = 2;
const CONTENDED: Attempt = { state: 'contended' };

/**
 * Commits registrations in groups. One transaction of three round trips locks and reads, decides in memory, and writes agents,
 * leases, budgets and events. A batch never waits for an agent that another transaction has locked: a separate transaction
 * decides that registration, so that it does not delay the others.
 */
@Injectable()
export class RegistrationGroup {
  private readonly group: GroupCommit<Joining, Attempt>;
  /** For requests with several registrations, so that a single registration does not wait for them. */
  private readonly batchGroups: GroupCommit<Joining, Attempt>[];
  private batchRequests = 0;
  private readonly watch: QuotaWatch;

  constructor(
    private readonly db: Database,
    private readonly writer: RegistrationWriter,
    private readonly rules: AgentRules,
    private readonly namespaces: NamespaceCatalog,
  ) {
    this.watch = new QuotaWatch(rules.quota);
    this.group = this.newGroup();
    this.batchGroups = Array.from({ length: BATCH_GROUPS }, () => this.newGroup());
  }

  /** Resolves when no batch is in progress. */
  async idle(): Promise<void> {
    await Promise.all([this.group, ...this.batchGroups].map(async (group) => await group.idle()));
  }

  /** Returns one result for each registration. Inside a transaction of the caller, the registrations are part of that transaction. */
  async register(all: readonly Joining[]): Promise<JoinResult[]> {
    if (this.db.inTransaction) return await this.registerInTransaction(all);
    const attempts = await this.groupFor(all).runAll(all);
    return await Promise.all(
      attempts.map(async (attempt, index) =>
        attempt.state === 'contended' ? await this.registerSeparately(all[index]) : attempt,
      ),
    );
  }

  private newGroup(): GroupCommit<Joining, Attempt> {
    return new GroupCommit<Joining, Attempt>(this.db, {
      name: 'registrations',
      maxBatch: MAX_BATCH,
      keyOf: ({ agentId }) => agentId,
      commit: async (batch) => await this.attempt(batch, false),
      ...GROUP_FAILURE,
    });
  }

  /** All registrations of a request are in one group, which keeps the order of registrations with the same agentId. */
  private groupFor(all: readonly Joining[]): GroupCommit<Joining, Attempt> {
    if (all.length === 1) return this.group;
    this.batchRequests += 1;
    return this.batchGroups[this.batchRequests % BATCH_GROUPS];
  }

  /** Decides several registrations of one agentId in the given order. */
  private async registerInTransaction(all: readonly Joining[]): Promise<JoinResult[]> {
    const results: JoinResult[] = [];
    for (const round of roundsOf(all)) {
      const attempts = await this.attempt(
        round.map((index) => all[index]),
        true,
      );
      for (const [place, attempt] of attempts.entries()) {
        const index = round[place];
        results[index] = attempt.state === 'contended' ? await this.registerSeparately(all[index]) : attempt;
      }
    }
    return results;
  }

  private async registerSeparately(joining: Joining): Promise<JoinResult> {
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
      const rows = await this.writer.write(accepted, budgets, facts.now);
      return decisions.map((decision): Attempt => {
        if (decision.state !== 'accepted') return decision;
        const { agentId, leaseToken } = decision.accepted.joining;
        const row = rows.get(agentId);
        return row ? { state: 'joined', joined: { record: toRecord(row, facts.now), leaseToken } } : CONTENDED;
      });
    });
  }

  private async lock(batch: readonly Joining[], wait: boolean): Promise<LockedBatch> {
    const owners = this.ownersToCount(batch);
    const namespaces = this.namespacesToCheck(batch);
    const options = { wait, owners, countAtMost: this.rules.quota.limit, namespaces };
    const locked = await this.writer.lock(batch, options);
    const { owned } = locked.facts;
    for (const owner of owners) this.watch.noteCount(owner, (owned[owner] ?? 0) + batch.length); // an upper bound, because the batch may have other owners
    return locked;
  }

  /** The default namespace always exists, so it is looked up only if it has a limit. */
  private namespacesToCheck(batch: readonly Joining[]): string[] {
    const names = new Set(batch.map(({ agentId }) => namespaceOf(agentId)));
    return [...names].filter((name) => name !== DEFAULT_NAMESPACE || this.namespaces.limitsOf(name).agents > 0);
  }

  private ownersToCount(batch: readonly Joining[]): string[] {
    const requested = new Map<string, number>();
    for (const { registeredBy: owner } of batch) requested.set(owner, (requested.get(owner) ?? 0) + 1);
    return [...requested].filter(([owner, count]) => this.watch.mustCount(owner, count)).map(([owner]) => owner);
  }
}

/** Splits the indexes into rounds of limited size. A round has each agentId once; the order within one agentId is kept. */
function roundsOf(all: readonly Joining[]): number[][] {
  const rounds: number[][] = [];
  const next = new Map<string, number>();
  for (const [index, { agentId }] of all.entries()) {
    let round = next.get(agentId) ?? 0;
    while ((rounds[round]?.length ?? 0) >= MAX_BATCH) round += 1;
    next.set(agentId, round + 1);
    (rounds[round] ??= []).push(index);
  }
  return rounds;
}
