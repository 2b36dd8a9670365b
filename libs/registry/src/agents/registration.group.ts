import { Injectable } from '@nestjs/common';
import {
  Database,
  DatabaseBusyError,
  DEFAULT_NAMESPACE,
  GroupCommit,
  NamespaceCatalog,
  namespaceOf,
} from '#rollcall/platform';
import { QuotaWatch } from '../quota.watch.js';
import type { AgentRecord } from './agent.record.js';
import { toRecord } from './agent.row.js';
import { MAX_ATTEMPTS } from './contention.js';
import { GROUP_FAILURE } from './group.failure.js';
import { type AgentRules, type Joining, RegistrationBatch } from './registration.batch.js';
import { type LockedBatch, RegistrationWriter } from './registration.writer.js';

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
