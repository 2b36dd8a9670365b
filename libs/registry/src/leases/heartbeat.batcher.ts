import { Injectable } from '@nestjs/common';
import { Database, DatabaseUnavailableError, DomainError, GroupCommit, StopsIn } from '#rollcall/platform';
import { LeaseTokenError, RegisterAgainError, wrongGeneration } from '../agents/agent.errors.js';
import { type Heartbeat, type LeaseFacts, LeaseStore } from './lease.store.js';

/** Heartbeats that this replica committed with one statement. */
export interface OwnBeats {
  /** The time of the heartbeats by the database's clock, in milliseconds. */
  beatAt: number;
  /** The agents whose previous heartbeat was committed by another replica. */
  moved: readonly string[];
}

/** The time at which the heartbeat was accepted, or the reason why it was rejected. */
export type BeatResult = { ok: true; beatAt: number } | { ok: false; error: DomainError };

type Listener = (beats: readonly Heartbeat[], committed: OwnBeats) => void;
/** `moved`: another replica committed the agent's previous heartbeat. */
type Committed = BeatResult & { moved?: true };

const MAX_BATCH = 1_000;

/**
 * Commits heartbeats in groups: up to a thousand heartbeats share one transaction, and a heartbeat gets its result after its
 * transaction has committed. A heartbeat never creates or revives an agent: without a live lease it is rejected with the reason.
 */
@Injectable()
export class HeartbeatBatcher {
  private readonly group: GroupCommit<Heartbeat, Committed>;
  private readonly listeners: Listener[] = [];

  constructor(
    private readonly db: Database,
    private readonly store: LeaseStore,
  ) {
    this.group = new GroupCommit<Heartbeat, Committed>(db, {
      name: 'heartbeats',
      maxBatch: MAX_BATCH,
      keyOf: ({ agentId }) => agentId,
      commit: async (beats) => await this.commit(beats),
      failure: (error) => ({
        ok: false,
        error: error instanceof DomainError ? error : new DatabaseUnavailableError(error),
      }),
      failsAll: (error) => error instanceof DatabaseUnavailableError,
      onDelivered: (beats, results) => this.notify(beats, results),
    });
  }

  /** Uses a callback instead of a promise, which is cheaper at tens of thousands of heartbeats per second. */
  beat(beat: Heartbeat, done: (result: BeatResult) => void): void {
    this.group.submit(beat, done);
  }

  async beatAll(beats: readonly Heartbeat[]): Promise<BeatResult[]> {
    return await this.group.runAll(beats);
  }

  /** The listener is called with the accepted heartbeats, after their callers got the results. */
  onBeats(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Resolves when no batch is in progress. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await this.group.idle();
  }

  private async commit(beats: readonly Heartbeat[]): Promise<Committed[]> {
    const { beatAt, counted, moved } = await this.store.beatAll(beats);
    const accepted: Committed = { ok: true, beatAt: Math.floor(beatAt) };
    const results = beats.map(() => accepted);
    for (const index of moved) results[index] = { ...accepted, moved: true };
    if (counted !== null) await this.explainRejections(beats, new Set(counted), results);
    return results;
  }

  private async explainRejections(
    beats: readonly Heartbeat[],
    counted: ReadonlySet<number>,
    results: Committed[],
  ): Promise<void> {
    const rejected = [...beats.entries()].filter(([index]) => !counted.has(index));
    const facts = await this.store.factsOf(rejected.map(([, { agentId }]) => agentId));
    const byId = new Map(facts.map((fact) => [fact.agentId, fact]));
    for (const [index, beat] of rejected) {
      results[index] = { ok: false, error: rejectionOf(beat, byId.get(beat.agentId)) };
    }
  }

  private notify(beats: readonly Heartbeat[], results: readonly Committed[]): void {
    const counted: Heartbeat[] = [];
    const moved: string[] = [];
    let beatAt = 0;
    for (const [index, result] of results.entries()) {
      if (!result.ok) continue;
      beatAt = result.beatAt;
      counted.push(beats[index]);
      if (result.moved) moved.push(beats[index].agentId);
    }
    this.db.counts.add('heartbeats.accepted', counted.length);
    this.db.counts.add('heartbeats.rejected', results.length - counted.length);
    if (counted.length === 0) return;
    for (const listener of this.listeners) listener(counted, { beatAt, moved });
  }
}

function rejectionOf({ agentId, generation, tokenHash }: Heartbeat, facts: LeaseFacts | undefined): DomainError {
  if (!facts?.live) return new RegisterAgainError(agentId, facts?.leaveReason);
  if (tokenHash !== null && facts.tokenHash !== tokenHash) return new LeaseTokenError(agentId);
  return wrongGeneration(agentId, generation, Number(facts.generation));
}
