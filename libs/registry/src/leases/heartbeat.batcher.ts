import { Injectable } from '@nestjs/common';
import { LeaseTokenError, RegisterAgainError, wrongGeneration } from '../agents/agent.errors.js';
import { Database } from '../db/database.js';
import { DatabaseUnavailableError } from '../db/database.errors.js';
import { RegistryError } from '../errors.js';
import type { BeatResult, Heartbeat } from './heartbeat.js';
import { type LeaseFacts, LeaseStore } from './lease.store.js';

interface Waiting {
  beat: Heartbeat;
  done: (result: BeatResult) => void;
}

const LARGEST_BATCH = 2_000;

/**
 * Beats commit in groups: while one batch is under way the next one collects, so a thousand beats cost one transaction. A
 * beat is answered after its batch is durable, all of a batch in one go. A beat never creates an agent, and never revives
 * one: it says why it does not count instead.
 */
@Injectable()
export class HeartbeatBatcher {
  private waiting: Waiting[] = [];
  private running?: Promise<void>;

  constructor(
    private readonly db: Database,
    private readonly store: LeaseStore,
  ) {}

  /** With a callback and not a promise, because there are tens of thousands a second. */
  beat(beat: Heartbeat, done: (result: BeatResult) => void): void {
    this.waiting.push({ beat, done });
    this.running ??= this.db.detached(async () => await this.drain());
  }

  async beatAll(beats: readonly Heartbeat[]): Promise<BeatResult[]> {
    return await Promise.all(beats.map(async (beat) => await new Promise<BeatResult>((done) => this.beat(beat, done))));
  }

  /** Settles when nothing is under way. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async drain(): Promise<void> {
    await new Promise(setImmediate); // what arrives in this turn of the loop goes together
    let answer = nothing;
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      const written = this.write(batch.map(({ beat }) => beat)).catch((error: unknown) => () => failure(error));
      await new Promise(setImmediate); // in which it goes out to Postgres
      answer(); // those of the batch before, meanwhile
      const resultAt = await written;
      answer = () => batch.forEach(({ done }, place) => done(resultAt(place)));
    }
    this.running = undefined;
    answer();
  }

  /** One beat of an agent in a batch: a second one, possibly of someone else, waits for the next. */
  private takeBatch(): Waiting[] {
    const batch = new Map<string, Waiting>();
    const later: Waiting[] = [];
    for (const one of this.waiting) {
      if (batch.size >= LARGEST_BATCH || batch.has(one.beat.agentId)) later.push(one);
      else batch.set(one.beat.agentId, one);
    }
    this.waiting = later;
    return [...batch.values()].toSorted(byAgentId);
  }

  private async write(beats: Heartbeat[]): Promise<(place: number) => BeatResult> {
    const { beatAt, refused } = await this.store.beatAll(beats);
    const beaten: BeatResult = { ok: true, beatAt: Math.floor(beatAt) };
    if (refused === null) return () => beaten;
    const faults = await this.explain(refused.map((place) => beats[place]));
    const byPlace = new Map(refused.map((place, index) => [place, faults[index]]));
    return (place) => {
      const error = byPlace.get(place);
      return error ? { ok: false, error } : beaten;
    };
  }

  private async explain(refused: Heartbeat[]): Promise<RegistryError[]> {
    const facts = await this.store.factsOf(refused.map(({ agentId }) => agentId));
    const byId = new Map(facts.map((fact) => [fact.agentId, fact]));
    return refused.map((beat) => whyNot(beat, byId.get(beat.agentId)));
  }
}

/** Everyone who writes several leases locks them in this order, so that no two wait for each other. */
function byAgentId(one: Waiting, other: Waiting): number {
  return one.beat.agentId < other.beat.agentId ? -1 : 1;
}

function whyNot({ agentId, generation, tokenHash }: Heartbeat, facts: LeaseFacts | undefined): RegistryError {
  if (!facts?.live) return new RegisterAgainError(agentId, facts?.leaveReason);
  if (tokenHash !== null && facts.tokenHash !== tokenHash) return new LeaseTokenError(agentId);
  return wrongGeneration(agentId, generation, Number(facts.generation));
}

function nothing(): void {}

function failure(error: unknown): BeatResult {
  return { ok: false, error: error instanceof RegistryError ? error : new DatabaseUnavailableError(error) };
}
