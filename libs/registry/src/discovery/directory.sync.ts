import { Injectable } from '@nestjs/common';
import { Periodic, StopsIn } from '#rollcall/platform';
import { type AgentRow, toEntry } from '../agents/agent.row.js';
import type { AgentStore } from '../agents/agent.store.js';
import type { Budget } from '../budgets/budget.js';
import type { BudgetStore } from '../budgets/budget.store.js';
import type { FlapPolicy } from '../leases/flap.damping.js';
import type { Heartbeat, OwnBeats } from '../leases/heartbeat.js';
import type { BeatRow, LeaseStore } from '../leases/lease.store.js';
import type { Directory } from './directory.js';
import type { DirectoryEntry, Vitals } from './directory.entry.js';
import { ChangeReader } from './change.reader.js';
import type { RegistryClock } from './registry.clock.js';

const SLICE = 2_000;
const READ_EVERY_MS = 1_000;
/** Beats are read again from this far back: one may commit after a later one was seen. */
const OVERLAP_MS = 5_000;

/** How far our estimate of the database's time may be ahead of it. */
const CLOCK_ERROR_MS = 1_000;

/** Where what the directory knows comes from. */
export interface DirectoryStores {
  agents: AgentStore;
  leases: LeaseStore;
  budgets: BudgetStore;
}

/**
 * Keeps this replica's directory true: filled at the start, then told of every change by the agents it is about, of the
 * beats taken here as they commit, and of those other replicas took by a look at the leases. It may forget everything at
 * any moment; Postgres knows.
 */
@Injectable()
export class DirectorySync {
  private beatsSeenUntil = 0;
  private budgetsSeenUntil = 0;
  private readonly records = new ChangeReader('refresh', async (agentIds) => await this.refresh(agentIds));
  private readonly beats = new ChangeReader('hear', async (agentIds) => await this.hear(agentIds));

  constructor(
    private readonly directory: Directory,
    private readonly stores: DirectoryStores,
    private readonly flapPolicy: FlapPolicy,
    private readonly clock: RegistryClock,
  ) {}

  /** The database's time, which sets our clock by the way. */
  async time(): Promise<number> {
    return await this.clock.synchronise(async () => await this.stores.agents.now());
  }

  /** Takes in the whole fleet as it is now. What was written here meanwhile is not undone. */
  async load(): Promise<number> {
    const mark = this.directory.mark();
    const now = await this.time();
    const entries: DirectoryEntry[] = [];
    for (let after = '', size = SLICE; size === SLICE;) {
      const rows = await this.stores.agents.live(SLICE, after);
      entries.push(...rows.map((row) => toEntry(row, now, this.flapPolicy)));
      size = rows.length;
      after = rows.at(-1)?.agentId ?? after;
    }
    if (this.directory.advance(-Infinity) > now + CLOCK_ERROR_MS) this.directory.stepBack(now);
    this.directory.replaceAll(entries, mark, now);
    this.beatsSeenUntil = now;
    this.budgetsSeenUntil = now;
    return entries.length;
  }

  /** Reads these agents anew: listed if they live, taken off the list if they do not. */
  async refresh(agentIds: readonly string[]): Promise<void> {
    if (agentIds.length === 0) return;
    const rows = await this.stores.agents.findMany(agentIds);
    const now = await this.time();
    for (const row of rows) {
      const entry = toEntry(row, now, this.flapPolicy);
      if (row.leftAt === null) this.directory.take(entry, now);
      else this.directory.remove(row.agentId, { generation: entry.record.generation, revision: entry.revision }, now);
    }
    this.dropForgotten(agentIds, rows, now);
  }

  /** Who is not even history any more has left long ago. */
  private dropForgotten(asked: readonly string[], rows: readonly AgentRow[], now: number): void {
    const kept = new Set(rows.map(({ agentId }) => agentId));
    for (const agentId of asked) {
      const known = kept.has(agentId) ? undefined : this.directory.find(agentId);
      if (!known) continue;
      this.directory.remove(agentId, { generation: known.record.generation, revision: known.revision }, now);
    }
  }

  /** For what changed here or elsewhere. With none, tries again what could not be read before. */
  scheduleRefresh(agentIds: readonly string[]): void {
    this.records.add(agentIds);
  }

  /** For how long a change that we know of has not been read, in milliseconds. */
  get behindMs(): number {
    return this.records.behindMs;
  }

  /** Settles when no reading is under way. */
  @StopsIn('writes')
  async idle(): Promise<void> {
    await Promise.all([this.records.idle(), this.beats.idle()]);
  }

  /** Beats that other replicas took. Answers how many were news. Also tries again what could not be read before. */
  @Periodic('registry.read_heartbeats', READ_EVERY_MS)
  async readBeats(): Promise<number> {
    this.records.add([]);
    this.beats.add([]);
    const rows = await this.stores.leases.foreignBeatsSince(new Date(this.beatsSeenUntil - OVERLAP_MS));
    const now = await this.time();
    const news = this.applyBeats(rows, now);
    this.beatsSeenUntil = now;
    return news;
  }

  /** Answers how many were news. */
  applyBeats(rows: readonly BeatRow[], now: number): number {
    return rows.filter((row) => this.directory.beat(row.agentId, vitalsOf(row), now)).length;
  }

  /**
   * Beats that this replica took. Who beat at another one before may have told it something that a beat does not repeat, so
   * its lease is read; and who is not known here at all is read whole.
   */
  applyOwnBeats(beats: readonly Heartbeat[], { beatAt, moved }: OwnBeats): void {
    const elsewhere = new Set(moved);
    const strangers: string[] = [];
    for (const { agentId, generation, inFlight, loadRatio, observedMs, usedTokens } of beats) {
      if (elsewhere.has(agentId)) continue;
      const vitals = { generation, beatAt, suspectAt: null, inFlight, loadRatio, observedMs, usedTokens };
      const isNews = this.directory.beat(agentId, vitals, beatAt);
      if (!isNews && this.directory.find(agentId)?.record.generation !== generation) strangers.push(agentId);
    }
    this.beats.add(moved);
    this.records.add(strangers);
  }

  private async hear(agentIds: readonly string[]): Promise<void> {
    const rows = await this.stores.leases.beatsOf(agentIds);
    this.applyBeats(rows, await this.time());
    const strangers = rows.filter(
      (row) => this.directory.find(row.agentId)?.record.generation !== Number(row.generation),
    );
    this.records.add(strangers.map(({ agentId }) => agentId));
  }

  /** Budgets that this replica has just changed. */
  applyBudgets(budgets: readonly Budget[]): number {
    const ofAgents = Map.groupBy(budgets, ({ kind, subject }) => (kind === 'agent' ? subject : null));
    ofAgents.delete(null);
    const now = this.directory.advance(-Infinity);
    const news = [...ofAgents].filter(([agentId, theirs]) => this.directory.charge(agentId ?? '', theirs, now));
    return news.length;
  }

  /** Budgets that other replicas charged. Answers how many agents it was news for. */
  @Periodic('registry.read_budgets', READ_EVERY_MS)
  async readBudgets(): Promise<number> {
    const now = await this.time();
    const changed = await this.stores.budgets.changedSince(new Date(this.budgetsSeenUntil - OVERLAP_MS));
    this.budgetsSeenUntil = now;
    return this.applyBudgets(changed);
  }
}

function vitalsOf(row: BeatRow): Vitals {
  return {
    generation: Number(row.generation),
    beatAt: row.lastBeatAt.getTime(),
    suspectAt: null,
    inFlight: row.inFlight,
    loadRatio: row.loadRatio ?? undefined,
    observedMs: row.observedMs ?? undefined,
    usedTokens: row.usedTokens === null ? undefined : Number(row.usedTokens),
  };
}
