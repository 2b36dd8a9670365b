import { Injectable, Logger } from '@nestjs/common';
import { Database, DatabaseUnavailableError, DomainError, StopsIn } from '#rollcall/platform';
import { LeaseTokenError, RegisterAgainError, wrongGeneration } from '../agents/agent.errors.js';
import type { BeatResult, Heartbeat, OwnBeats } from './heartbeat.js';
import { type LeaseFacts, LeaseStore } from './lease.store.js';

interface Waiting {
  beat: Heartbeat;
  done: (result: BeatResult) => void;
}

/** What became of a batch, and what is to be said to those it did not count for. */
interface Written extends OwnBeats {
  errors: ReadonlyMap<number, DomainError>;
  /** The database does not answer. */
  failure?: DomainError;
}

type Listener = (beats: readonly Heartbeat[], taken: OwnBeats) => void;

const LARGEST_BATCH = 1_000;
/** So many are worth a batch beside those that are under way. Fewer fare better by waiting for one another. */
const WORTH_A_LANE = 500;
const MOST_SIDE_LANES = 2;
const NO_ERRORS: ReadonlyMap<number, DomainError> = new Map();

/**
 * Beats commit in groups: while one batch is under way the next one collects, so a thousand beats cost one transaction; only
 * where very many wait do batches run beside each other. A beat is answered after its batch is durable, all of a batch in
 * one go. A beat never creates an agent, and never revives one: it says why it does not count instead.
 */
@Injectable()
export class HeartbeatBatcher {
  private readonly log = new Logger('heartbeats');
  private waiting: Waiting[] = [];
  private isDraining = false;
  private sideLanes = 0;
  private readonly underWay = new Set<Promise<void>>();
  private readonly listeners: Listener[] = [];

  constructor(
    private readonly db: Database,
    private readonly store: LeaseStore,
  ) {}

  /** With a callback and not a promise, because there are tens of thousands a second. */
  beat(beat: Heartbeat, done: (result: BeatResult) => void): void {
    this.waiting.push({ beat, done });
    const isCrowded = this.waiting.length >= WORTH_A_LANE && this.sideLanes < MOST_SIDE_LANES;
    if (!this.isDraining || isCrowded) this.openLane();
  }

  async beatAll(beats: readonly Heartbeat[]): Promise<BeatResult[]> {
    const { promise, resolve } = Promise.withResolvers<BeatResult[]>();
    const results: BeatResult[] = [];
    let missing = beats.length;
    if (missing === 0) resolve(results);
    for (const [place, beat] of beats.entries()) {
      this.beat(beat, (result) => {
        results[place] = result;
        missing -= 1;
        if (missing === 0) resolve(results);
      });
    }
    return await promise;
  }

  /** Tells of beats that counted, after they were answered. */
  onBeats(listener: Listener): void {
    this.listeners.push(listener);
  }

  /** Settles when nothing is under way. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all(this.underWay);
  }

  private openLane(): void {
    const isSide = this.isDraining;
    if (isSide) this.sideLanes += 1;
    else this.isDraining = true;
    const lane = this.db.detached(async () => await this.drain(isSide));
    this.underWay.add(lane);
    void lane.finally(() => this.underWay.delete(lane));
  }

  /** Batch by batch: while any wait, and on a side lane while they are worth it. */
  private async drain(isSide: boolean): Promise<void> {
    const least = isSide ? WORTH_A_LANE : 1;
    await new Promise(setImmediate); // what arrives in this turn of the loop goes together
    let finish = nothing;
    while (this.waiting.length >= least) {
      const batch = this.takeBatch();
      const beats = batch.map(({ beat }) => beat);
      const written = this.write(beats).catch((error: unknown) => allFailed(beats, error));
      await new Promise(setImmediate); // in which it goes out to Postgres
      finish(); // with the batch before, meanwhile
      const outcome = await written;
      if (outcome.failure) this.refuseWaiting(outcome.failure);
      finish = () => this.finish(batch, beats, outcome);
    }
    if (isSide) this.sideLanes -= 1;
    else this.isDraining = false; // before the last are answered: who then beats again opens it anew
    finish();
  }

  private finish(batch: readonly Waiting[], beats: readonly Heartbeat[], written: Written): void {
    const { errors } = written;
    const beaten: BeatResult = { ok: true, beatAt: written.beatAt };
    for (const [place, { done }] of batch.entries()) {
      const error = errors.get(place);
      this.tell(done, error ? { ok: false, error } : beaten);
    }
    const counted = errors.size === 0 ? beats : beats.filter((_, place) => !errors.has(place));
    for (const hear of this.listeners) this.tell((taken) => hear(counted, taken), written);
  }

  /** Who has waited behind a batch that got no answer would wait as long again only to hear the same. */
  private refuseWaiting(error: DomainError): void {
    const refused = this.waiting;
    this.waiting = [];
    for (const { done } of refused) this.tell(done, { ok: false, error });
  }

  /** What one of them makes of its answer must not keep the others from theirs. */
  private tell<Told>(whom: (told: Told) => void, told: Told): void {
    try {
      whom(told);
    } catch (error) {
      this.log.error({ event: 'heartbeats.answer_failed', err: error });
    }
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

  private async write(beats: readonly Heartbeat[]): Promise<Written> {
    const { beatAt, counted, moved } = await this.store.beatAll(beats);
    const taken = { beatAt: Math.floor(beatAt), moved: moved.map((place) => beats[place].agentId) };
    if (counted === null) return { ...taken, errors: NO_ERRORS };
    const places = new Set(counted);
    const refused = [...beats.keys()].filter((place) => !places.has(place));
    const faults = await this.explain(refused.map((place) => beats[place]));
    return { ...taken, errors: new Map(refused.map((place, index) => [place, faults[index]])) };
  }

  private async explain(refused: Heartbeat[]): Promise<DomainError[]> {
    const facts = await this.store.factsOf(refused.map(({ agentId }) => agentId));
    const byId = new Map(facts.map((fact) => [fact.agentId, fact]));
    return refused.map((beat) => whyNot(beat, byId.get(beat.agentId)));
  }
}

/** Everyone who writes several leases locks them in this order, so that no two wait for each other. */
function byAgentId(one: Waiting, other: Waiting): number {
  return one.beat.agentId < other.beat.agentId ? -1 : 1;
}

function whyNot({ agentId, generation, tokenHash }: Heartbeat, facts: LeaseFacts | undefined): DomainError {
  if (!facts?.live) return new RegisterAgainError(agentId, facts?.leaveReason);
  if (tokenHash !== null && facts.tokenHash !== tokenHash) return new LeaseTokenError(agentId);
  return wrongGeneration(agentId, generation, Number(facts.generation));
}

function nothing(): void {}

function allFailed(beats: readonly Heartbeat[], cause: unknown): Written {
  const error = cause instanceof DomainError ? cause : new DatabaseUnavailableError(cause);
  const failure = cause instanceof DatabaseUnavailableError ? cause : undefined;
  return { beatAt: 0, moved: [], errors: new Map(beats.map((_, place) => [place, error])), failure };
}
