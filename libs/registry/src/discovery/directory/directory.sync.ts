import { Injectable, Logger } from '@nestjs/common';
import { Periodic, StopsIn } from '#rollcall/platform';
import { type AgentRow, AgentStore, toEntry } from '../../agents/agent.store.js';
import type { Budget } from '../../budgets/budget.js';
import { BudgetStore } from '../../budgets/store/budget.store.js';
import { CircuitStore, historyOf } from '../../circuit/circuit.store.js';
import type { FlapPolicy } from '../../leases/flap.damping.js';
import type { OwnBeats } from '../../leases/heartbeat.batcher.js';
import { type BeatRow, type Heartbeat, LeaseStore } from '../../leases/lease.store.js';
import { type DirectoryEntry, isNewer, type Revision, type Vitals } from './directory.entry.js';
import type { Directory } from './directory.js';
import type { RegistryClock } from './registry.clock.js';
import type { ReplicaChanges } from './replica.changes.js';

/** The number of agents that one statement reads. */
const SLICE = 2_000;

/**
 * Reads changed agents from Postgres in the background, so that writers do not wait. Changes that arrive during a read share the
 * next read. Agents whose read failed are kept for the next attempt, so no change is lost.
 */
class ChangeReader {
  private readonly log = new Logger('directory');
  /** The agentIds to read, with the time at which each was added, oldest first. */
  private waiting = new Map<string, number>();
  private running?: Promise<void>;
  private readingSince?: number;
  private reading: ReadonlySet<string> = new Set();

  constructor(
    private readonly name: string,
    private readonly read: (agentIds: readonly string[]) => Promise<unknown>,
  ) {}

  /** Schedules a read of these agents. Without agentIds, it retries failed reads. */
  add(agentIds: readonly string[]): void {
    const now = performance.now();
    for (const agentId of agentIds) if (!this.waiting.has(agentId)) this.waiting.set(agentId, now);
    if (this.waiting.size > 0) this.running ??= this.readAll();
  }

  /** Whether a read of the agent is scheduled or in progress. */
  isPending(agentId: string): boolean {
    return this.waiting.has(agentId) || this.reading.has(agentId);
  }

  /** How long the oldest unread change has been waiting, in milliseconds. */
  get behindMs(): number {
    if (this.readingSince === undefined && this.waiting.size === 0) return 0;
    const [oldest = Infinity] = this.waiting.values();
    return performance.now() - (this.readingSince ?? oldest);
  }

  /** Resolves when no read is in progress. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async readAll(): Promise<void> {
    while (this.waiting.size > 0 && (await this.readSlice([...this.waiting].slice(0, SLICE))));
    this.running = undefined;
  }

  private async readSlice(slice: [agentId: string, addedAt: number][]): Promise<boolean> {
    for (const [agentId] of slice) this.waiting.delete(agentId); // first, so that a change during the read is added again
    this.readingSince = slice[0]?.[1];
    const agentIds = slice.map(([agentId]) => agentId);
    this.reading = new Set(agentIds);
    try {
      await this.read(agentIds);
      return true;
    } catch (error) {
      this.waiting = new Map([...this.waiting, ...slice].toSorted(([, one], [, other]) => one - other));
      this.log.warn({ event: `directory.${this.name}_failed`, waiting: this.waiting.size, err: error });
      return false;
    } finally {
      this.readingSince = undefined;
      this.reading = new Set();
    }
  }
}

const READ_EVERY_MS = 1_000;
/** How often all leases and agent budgets that changed are read, because a replica may die before it publishes its last changes. */
const CHECK_ALL_EVERY_MS = 120_000;
/** Each read overlaps the previous one by this much, because transactions do not commit in the order of their times. */
const OVERLAP_MS = 5_000;

/** How much the estimated time of the database may be ahead of its real time. */
const CLOCK_ERROR_MS = 1_000;

/**
 * Keeps this replica's directory equal to Postgres. It loads the whole fleet at the start, then reads each agent that an event
 * names. It applies the heartbeats, charges and outcomes of this replica when they commit, and reads those of other replicas once a
 * second (see `ReplicaChanges`). The directory is a cache: it can be loaded again at any time.
 */
@Injectable()
export class DirectorySync {
  private beatsSeenUntil = 0;
  private budgetsSeenUntil = 0;
  private outcomesSeenUntil = 0;
  private readonly records = new ChangeReader('refresh', async (agentIds) => await this.refresh(agentIds));
  private readonly beats = new ChangeReader('read_heartbeats', async (agentIds) => await this.readBeatsOf(agentIds));
  private readonly charges = new ChangeReader('read_charges', async (agentIds) => await this.readBudgetsOf(agentIds));

  constructor(
    private readonly directory: Directory,
    private readonly agents: AgentStore,
    private readonly leases: LeaseStore,
    private readonly budgets: BudgetStore,
    private readonly circuits: CircuitStore,
    private readonly clock: RegistryClock,
    private readonly changes: ReplicaChanges,
    private readonly flapPolicy: FlapPolicy,
  ) {}

  /** Reads the time of the database, and adjusts the registry clock to it. */
  async time(): Promise<number> {
    return await this.clock.synchronise(async () => await this.agents.now());
  }

  /** Loads the whole fleet. Newer writes that arrive during the load are kept. Returns the number of agents. */
  async load(): Promise<number> {
    const mark = this.directory.mark();
    const now = await this.time();
    const entries: DirectoryEntry[] = [];
    for (let after = '', size = SLICE; size === SLICE;) {
      const rows = await this.agents.live(SLICE, after);
      entries.push(...rows.map((row) => toEntry(row, now, this.flapPolicy)));
      size = rows.length;
      after = rows.at(-1)?.agentId ?? after;
    }
    if (this.directory.advance(-Infinity) > now + CLOCK_ERROR_MS) this.directory.stepBack(now);
    this.directory.replaceAll(entries, mark, now);
    this.beatsSeenUntil = now;
    this.budgetsSeenUntil = now;
    this.outcomesSeenUntil = now;
    return entries.length;
  }

  /** Reads these agents again: lists live agents, and removes the others. */
  async refresh(agentIds: readonly string[]): Promise<void> {
    if (agentIds.length === 0) return;
    const rows = await this.agents.findMany(agentIds);
    const now = await this.time();
    this.apply(rows, now);
    this.removeDeleted(agentIds, rows, now);
  }

  /** Applies rows that were read, or that this replica has just committed. An older row does not undo a newer one. */
  apply(rows: readonly AgentRow[], now: number): void {
    for (const row of rows) {
      const entry = toEntry(row, now, this.flapPolicy);
      if (row.leftAt === null) this.directory.apply(entry, now);
      else this.directory.remove(row.agentId, { generation: entry.record.generation, revision: entry.revision }, now);
    }
  }

  /** Whether the directory contains this write of the agent, or a later one. */
  knows(agentId: string, write: Revision): boolean {
    const known = this.directory.revisionOf(agentId);
    return known !== undefined && !isNewer(write, known);
  }

  /** Removes agents without a row: they left long ago, and their history was deleted. */
  private removeDeleted(requested: readonly string[], rows: readonly AgentRow[], now: number): void {
    const stored = new Set(rows.map(({ agentId }) => agentId));
    for (const agentId of requested) {
      const known = stored.has(agentId) ? undefined : this.directory.find(agentId);
      if (!known) continue;
      this.directory.remove(agentId, { generation: known.record.generation, revision: known.revision }, now);
    }
  }

  /** Reads these agents in the background. Without agents, it retries failed reads. */
  scheduleRefresh(agentIds: readonly string[]): void {
    this.records.add(agentIds);
  }

  /** How long the oldest unread change has been waiting, in milliseconds. */
  get behindMs(): number {
    return this.records.behindMs;
  }

  /** Resolves when no read is in progress. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all([this.records.idle(), this.beats.idle(), this.charges.idle()]);
  }

  /**
   * Publishes the agents that this replica changed, starts to read those that other replicas changed, and retries failed reads. If this
   * replica paused and may have missed some, it reads all.
   */
  @Periodic('registry.exchange_changes', READ_EVERY_MS)
  async exchangeChanges(): Promise<void> {
    this.records.add([]);
    await this.changes.publish();
    const others = await this.changes.ofOthers();
    this.beats.add(others?.beaten ?? []);
    this.charges.add(others?.charged ?? []);
    if (others) return;
    await this.readBeats();
    await this.readBudgets();
  }

  /** Applies all heartbeats that other replicas committed since the last call. Returns how many were new. Scans the leases of the fleet. */
  @Periodic('registry.check_heartbeats', CHECK_ALL_EVERY_MS)
  async readBeats(): Promise<number> {
    const rows = await this.leases.beatsOfOtherReplicasSince(new Date(this.beatsSeenUntil - OVERLAP_MS));
    const now = await this.time();
    const applied = this.applyBeats(rows, now);
    this.beatsSeenUntil = now;
    return applied;
  }

  /** Returns how many heartbeats were new. */
  applyBeats(rows: readonly BeatRow[], now: number): number {
    return rows.filter((row) => this.directory.beat(row.agentId, vitalsOf(row), now)).length;
  }

  /**
   * Applies the heartbeats that this replica committed. If an agent sent its previous heartbeat to another replica, its lease is
   * read, because that heartbeat may have contained values that the new heartbeat omits. Heartbeats that arrive before the end of
   * that read wait for another read: if they were applied immediately, the result of the read would look outdated. An unknown agent is
   * read completely.
   */
  applyOwnBeats(beats: readonly Heartbeat[], { beatAt, moved }: OwnBeats): void {
    const toRead = new Set(moved);
    const unknown: string[] = [];
    for (const { agentId, generation, inFlight, loadRatio, reportedMs, usedTokens } of beats) {
      if (this.beats.isPending(agentId)) toRead.add(agentId);
      if (toRead.has(agentId)) continue;
      const vitals = { generation, beatAt, inFlight, loadRatio, reportedMs, usedTokens };
      const isApplied = this.directory.beat(agentId, vitals, beatAt);
      if (!isApplied && this.directory.find(agentId)?.record.generation !== generation) unknown.push(agentId);
    }
    this.beats.add([...toRead]);
    this.records.add(unknown);
  }

  private async readBeatsOf(agentIds: readonly string[]): Promise<void> {
    const rows = await this.leases.beatsOf(agentIds);
    this.applyBeats(rows, await this.time());
    const unknown = rows.filter(
      (row) => this.directory.find(row.agentId)?.record.generation !== Number(row.generation),
    );
    this.records.add(unknown.map(({ agentId }) => agentId));
  }

  /** Applies the budgets that this replica has just changed. Returns how many agents changed. */
  applyBudgets(budgets: readonly Budget[]): number {
    const ofAgents = Map.groupBy(budgets, ({ kind, subject }) => (kind === 'agent' ? subject : null));
    ofAgents.delete(null);
    const now = this.directory.advance(-Infinity);
    const changed = [...ofAgents].filter(([agentId, theirs]) => this.directory.charge(agentId ?? '', theirs, now));
    return changed.length;
  }

  private async readBudgetsOf(agentIds: readonly string[]): Promise<void> {
    this.applyBudgets(await this.budgets.ofAgents(agentIds));
  }

  /** Applies all budgets of agents that changed since the last call. Returns how many agents changed. Scans the budgets. */
  @Periodic('registry.check_budgets', CHECK_ALL_EVERY_MS)
  async readBudgets(): Promise<number> {
    const now = await this.time();
    const changed = await this.budgets.changedSince(new Date(this.budgetsSeenUntil - OVERLAP_MS));
    this.budgetsSeenUntil = now;
    return this.applyBudgets(changed);
  }

  /** Applies the circuits and latencies that other replicas changed by recording outcomes. Returns how many agents changed. */
  @Periodic('registry.read_outcomes', READ_EVERY_MS)
  async readOutcomes(): Promise<number> {
    const now = await this.time();
    const rows = await this.circuits.withOutcomesSince(new Date(this.outcomesSeenUntil - OVERLAP_MS));
    this.outcomesSeenUntil = now;
    return rows.filter((row) => this.directory.recordCalls(row.agentId, historyOf(row), now)).length;
  }
}

function vitalsOf(row: BeatRow): Vitals {
  return {
    generation: Number(row.generation),
    beatAt: row.lastBeatAt.getTime(),
    inFlight: row.inFlight,
    loadRatio: row.loadRatio ?? undefined,
    reportedMs: row.reportedMs ?? undefined,
    usedTokens: row.usedTokens === null ? undefined : Number(row.usedTokens),
  };
}
