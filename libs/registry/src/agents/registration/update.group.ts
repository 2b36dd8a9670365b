import { Injectable } from '@nestjs/common';
import { Database, DatabaseBusyError, GroupCommit } from '#rollcall/platform';
import { capabilityKeys } from '../../discovery/capabilities/capability.js';
import { type AgentCredential, credentialError } from '../agent.credential.js';
import { AgentChangedError, TooManyLabelsError } from '../agent.errors.js';
import { AgentEvents, type AgentUpdated } from '../agent.events.js';
import type { AgentRecord } from '../agent.record.js';
import { type AgentRow, AgentStore, recordVersionOf, toRecord } from '../agent.store.js';
import { GROUP_FAILURE, MAX_ATTEMPTS } from '../group.failure.js';
import { type AgentUpdate, applyUpdate, declarationOf, MAX_LABELS } from './registration.js';

/** A record and its version, for conditional updates. */
export interface VersionedAgent {
  record: AgentRecord;
  version: string;
}

interface UpdateRequest {
  credential: AgentCredential;
  update: AgentUpdate;
  /** Rejects the update if the record no longer has this version. */
  ifVersion?: string;
}

type UpdateResult =
  { state: 'done'; agent: VersionedAgent } | { state: 'rejected'; error: Error } | { state: 'contended' };

const MAX_BATCH = 250;

/**
 * Commits updates in groups. One transaction of three round trips locks and reads, decides in memory, and writes rows and events.
 * A batch never waits for a row that another transaction has locked: a separate transaction decides that update. A credential that
 * may not act is rejected without waiting.
 */
@Injectable()
export class UpdateGroup {
  private readonly group: GroupCommit<UpdateRequest, UpdateResult>;

  constructor(
    private readonly db: Database,
    private readonly store: AgentStore,
    private readonly events: AgentEvents,
  ) {
    this.group = new GroupCommit<UpdateRequest, UpdateResult>(db, {
      name: 'updates',
      maxBatch: MAX_BATCH,
      commit: async (batch) => await this.attempt(batch, false),
      ...GROUP_FAILURE,
    });
  }

  /** Resolves when no batch is in progress. */
  async idle(): Promise<void> {
    await this.group.idle();
  }

  /** Inside a transaction of the caller, the update is part of that transaction. */
  async update(request: UpdateRequest): Promise<VersionedAgent> {
    let result: UpdateResult = this.db.inTransaction
      ? (await this.attempt([request], false))[0]
      : await this.group.run(request);
    for (let attempts = 0; result.state === 'contended' && attempts < MAX_ATTEMPTS; attempts++)
      [result] = await this.attempt([request], true);
    if (result.state === 'contended') throw new DatabaseBusyError('several callers update this agent at the same time');
    if (result.state === 'rejected') throw result.error;
    return result.agent;
  }

  /** Runs one transaction. It waits for rows that other transactions have locked, or, without `wait`, returns `contended`. */
  private async attempt(batch: readonly UpdateRequest[], wait: boolean): Promise<UpdateResult[]> {
    const agentIds = [...new Set(batch.map(({ credential }) => credential.agentId))];
    return await this.db.transaction(async () => {
      const [locked, found, now] = await Promise.all([
        this.store.lockMany(agentIds, wait),
        this.store.findMany(agentIds),
        this.store.now(),
      ]);
      const rows = new Map(found.map((row) => [row.agentId, row]));
      const updated: AgentUpdated[] = [];
      const results = batch.map((request): UpdateResult => {
        const decided = decide(request, rows.get(request.credential.agentId), locked);
        if ('state' in decided) return decided;
        const { row, changed } = decided;
        if (changed.length > 0) updated.push({ row, changed, before: rows.get(row.agentId)?.capabilities ?? [] });
        rows.set(row.agentId, row);
        return { state: 'done', agent: { record: toRecord(row, now), version: recordVersionOf(row) } };
      });
      await this.write(updated, now);
      return results;
    });
  }

  /** Writes the last state of each row, and one event for each update. */
  private async write(updated: readonly AgentUpdated[], now: number): Promise<void> {
    if (updated.length === 0) return;
    const last = new Map(updated.map(({ row }) => [row.agentId, row]));
    const changes = [...last.values()].map((row) => ({ row, capabilityKeys: capabilityKeys(row.capabilities) }));
    await this.store.redeclare(changes);
    await this.events.updated(updated, now);
  }
}

type Decided = { row: AgentRow; changed: string[] } | Exclude<UpdateResult, { state: 'done' }>;

function decide(request: UpdateRequest, row: AgentRow | undefined, locked: ReadonlySet<string>): Decided {
  const { credential, update, ifVersion } = request;
  const error = credentialError(credential, row);
  if (error || !row) return rejected(error);
  if (!locked.has(row.agentId)) return { state: 'contended' };
  if (ifVersion !== undefined && ifVersion !== recordVersionOf(row))
    return rejected(new AgentChangedError(credential.agentId));
  const { after, changed } = applyUpdate(declarationOf(row), update);
  if (Object.keys(after.labels).length > MAX_LABELS)
    return rejected(new TooManyLabelsError(credential.agentId, MAX_LABELS));
  if (changed.length === 0) return { row, changed };
  return { row: { ...row, ...after, revision: String(Number(row.revision) + 1) }, changed };
}

function rejected(error: Error | undefined): Decided {
  return { state: 'rejected', error: error ?? new Error('an update was rejected without a reason') };
}
