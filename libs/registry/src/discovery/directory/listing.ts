import type { AgentRecord } from '../../agents/agent.record.js';
import type { Assessment } from '../ranking/assessment.js';
import { beatOf, type DirectoryEntry } from './directory.entry.js';

/** An agent in a result: the record without the card, which may be large and can be read with GET. */
export type CandidateView = Omit<AgentRecord, 'agentCard'>;

/**
 * An agent in the directory. The object stays the same as long as the agent is listed, so orders keep a reference to it and move
 * it only when its rank changes.
 */
export class Listing {
  /** The time of the last heartbeat in milliseconds. It is later than the time in the entry if the last heartbeat changed nothing else. */
  beatAt: number;
  /** The agent's keys in the index: its capabilities and all their ancestors. */
  keys: readonly string[] = [];
  /** The time of its earliest entry in the timeline; Infinity if there is none. */
  dueAt = Infinity;
  /** Whether Postgres has marked the agent as suspect. A heartbeat makes it active here before a sweep removes the mark. */
  isMarkedSuspect = false;
  /** Whether it waits in the queue of the `SilenceWatch`. */
  isQueued = false;
  private latest: Assessment;
  private serialised: string | undefined;

  constructor(
    public entry: DirectoryEntry,
    /** The capabilities in their normal form, with aliases resolved. */
    public capabilities: readonly string[],
    assessment: Assessment,
    /** The directory's change counter at the last write. */
    public changedAt: number,
  ) {
    this.beatAt = beatOf(entry);
    this.latest = assessment;
  }

  get agentId(): string {
    return this.latest.agentId;
  }

  get assessment(): Assessment {
    return this.latest;
  }

  reassess(assessment: Assessment): void {
    this.latest = assessment;
    this.serialised = undefined;
  }

  /** Records a heartbeat that changes nothing except the time of the last heartbeat. */
  recordBeat(beatAt: number): void {
    this.beatAt = beatAt;
    this.serialised = undefined;
  }

  /** Replaces the entry. The caller must reassess the agent afterwards. */
  rewrite(entry: DirectoryEntry): void {
    this.entry = entry;
    this.beatAt = beatOf(entry);
  }

  /** The entry with the time of the last heartbeat. */
  current(): DirectoryEntry {
    const record = this.withLastBeat(this.entry.record);
    return record === this.entry.record ? this.entry : { ...this.entry, record };
  }

  /** The agent as it appears in a result. */
  view(): CandidateView {
    const { agentCard: _, ...view } = this.withLastBeat(this.latest.record);
    return view;
  }

  /** The view as JSON, cached until the agent changes. */
  document(): string {
    return (this.serialised ??= JSON.stringify(this.view()));
  }

  private withLastBeat(record: AgentRecord): AgentRecord {
    const { health } = record;
    const lastHeartbeat = Number.isFinite(this.beatAt) ? new Date(this.beatAt).toISOString() : null;
    return health.lastHeartbeat === lastHeartbeat ? record : { ...record, health: { ...health, lastHeartbeat } };
  }
}
