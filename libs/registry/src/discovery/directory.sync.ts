import { Injectable, Logger } from '@nestjs/common';
import { agentLoad } from '../agents/agent.record.js';
import { toEntry } from '../agents/agent.row.js';
import { AgentStore } from '../agents/agent.store.js';
import type { FlapPolicy } from '../leases/flap.damping.js';
import { LeaseStore, type BeatRow } from '../leases/lease.store.js';
import type { Directory } from './directory.js';
import type { DirectoryEntry } from './directory.entry.js';

const SLICE = 2_000;
/** Beats are read again from this far back: one may commit after a later one was seen. */
const OVERLAP_MS = 5_000;

/**
 * Keeps this replica's directory true: filled at the start, then told of every change by the agents it is about, and of the
 * beats other replicas took by a look at the leases. It may forget everything at any moment; Postgres knows.
 */
@Injectable()
export class DirectorySync {
  private readonly log = new Logger('directory');
  private beatsSeenUntil = 0;
  private readonly changed = new Set<string>();
  private refreshing?: Promise<void>;

  constructor(
    private readonly directory: Directory,
    private readonly agents: AgentStore,
    private readonly leases: LeaseStore,
    private readonly flapPolicy: FlapPolicy,
  ) {}

  /** Takes in the whole fleet as it is now. What was written here meanwhile is not undone. */
  async load(): Promise<number> {
    const mark = this.directory.mark();
    const now = await this.agents.now();
    const entries: DirectoryEntry[] = [];
    for (let after = '', size = SLICE; size === SLICE;) {
      const rows = await this.agents.live(SLICE, after);
      entries.push(...rows.map((row) => toEntry(row, now, this.flapPolicy)));
      size = rows.length;
      after = rows.at(-1)?.agentId ?? after;
    }
    this.directory.replaceAll(entries, mark, now);
    this.beatsSeenUntil = now;
    return entries.length;
  }

  /** Reads these agents anew: listed if they live, taken off the list if they do not. */
  async refresh(agentIds: readonly string[]): Promise<void> {
    if (agentIds.length === 0) return;
    const rows = await this.agents.findMany(agentIds);
    const now = await this.agents.now();
    for (const row of rows) {
      const entry = toEntry(row, now, this.flapPolicy);
      if (row.leftAt === null) this.directory.upsert(entry, now);
      else this.directory.remove(row.agentId, { generation: entry.record.generation, revision: entry.revision }, now);
    }
  }

  /** After a write: at once, without holding up the answer to it. While one reading is under way the next one collects. */
  refreshSoon(agentIds: readonly string[]): void {
    for (const agentId of agentIds) this.changed.add(agentId);
    this.refreshing ??= this.refreshChanged();
  }

  private async refreshChanged(): Promise<void> {
    await new Promise(setImmediate);
    const agentIds = [...this.changed];
    this.changed.clear();
    const failure = await this.refresh(agentIds).catch((error: unknown) => ({ error }));
    this.refreshing = undefined;
    if (failure) this.missed(agentIds, failure.error);
    else if (this.changed.size > 0) this.refreshSoon([]);
  }

  /** Settles when nothing is being read. */
  async idle(): Promise<void> {
    while (this.refreshing) await this.refreshing;
  }

  /** Not lost: they are read with the next ones, or with the next beats. */
  private missed(agentIds: readonly string[], error: unknown): void {
    this.log.warn({ event: 'directory.refresh_failed', agents: agentIds.length, err: error });
    for (const agentId of agentIds) this.changed.add(agentId);
  }

  /** Beats that other replicas took. Answers how many were news. */
  async hearBeats(): Promise<number> {
    if (this.changed.size > 0) this.refreshSoon([]);
    const rows = await this.leases.beatsSince(new Date(this.beatsSeenUntil - OVERLAP_MS));
    const now = await this.agents.now();
    const news = rows.filter((row) => this.directory.beat(row.agentId, vitalsOf(row, this.directory), now));
    this.beatsSeenUntil = now;
    return news.length;
  }
}

function vitalsOf(row: BeatRow, directory: Directory): Parameters<Directory['beat']>[1] {
  const capacity = directory.find(row.agentId)?.record.load.capacity ?? null;
  return {
    generation: Number(row.generation),
    beatAt: row.lastBeatAt.getTime(),
    suspectAt: null,
    load: agentLoad({ inFlight: row.inFlight, capacity, reportedRatio: row.loadRatio ?? undefined }),
    observedMs: row.observedMs ?? undefined,
  };
}
