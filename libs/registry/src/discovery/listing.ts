import type { AgentRecord } from '../agents/agent.record.js';
import type { Assessment } from './assessment.js';
import { beatOf, type DirectoryEntry } from './directory.entry.js';

/**
 * One agent's place in the directory. It stays the same object while the agent is listed, so orders hold it by reference
 * and only move it when its rank changes; what it says is replaced as a whole.
 */
export class Listing {
  /** Its last beat, in milliseconds: later than what entry and assessment say when it brought no other news. */
  beatAt: number;
  /** Where it stands in the index: its claims and all that contain them. */
  keys: readonly string[] = [];
  /** Its view as JSON, made when first shown. */
  json: string | undefined;
  /** What goes before the view in an answer, for each strategy that showed it. */
  prefaces: Map<string, string> | undefined;
  /** Whether a ranking looked at it since it last changed: only then can a remembered answer depend on it. */
  seen = false;
  /** When the timeline will look at it; Infinity when it will not. */
  dueAt = Infinity;

  constructor(
    public entry: DirectoryEntry,
    /** Normalised, through the aliases. */
    public claims: readonly string[],
    public assessment: Assessment,
    /** The directory's count of changes when this was last written. */
    public changedAt: number,
  ) {
    this.beatAt = beatOf(entry);
  }

  get agentId(): string {
    return this.assessment.agentId;
  }

  /** Beat, and nothing else. */
  hear(beatAt: number): void {
    this.beatAt = beatAt;
    this.json = undefined;
  }

  rewrite(entry: DirectoryEntry): void {
    this.entry = entry;
    this.beatAt = beatOf(entry);
  }

  /** The entry with its last beat. */
  current(): DirectoryEntry {
    const record = this.heard(this.entry.record);
    return record === this.entry.record ? this.entry : { ...this.entry, record };
  }

  /** A record of this agent with its last beat. */
  heard(record: AgentRecord): AgentRecord {
    const { health } = record;
    const lastHeartbeat = Number.isFinite(this.beatAt) ? new Date(this.beatAt).toISOString() : null;
    return health.lastHeartbeat === lastHeartbeat ? record : { ...record, health: { ...health, lastHeartbeat } };
  }

  forgetText(): void {
    this.json = undefined;
    this.prefaces = undefined;
  }
}
