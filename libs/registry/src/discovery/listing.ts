import type { AgentRecord } from '../agents/agent.record.js';
import type { Assessment } from './assessment.js';
import { beatOf, type DirectoryEntry } from './directory.entry.js';
import type { CandidateView } from './ranking.js';

/**
 * One agent's place in the directory. It is the same object for as long as the agent is listed, so orders hold it by
 * reference and move it only when its rank changes.
 */
export class Listing {
  /** The last beat, in milliseconds. Later than in entry and assessment if that beat changed nothing else. */
  beatAt: number;
  /** The agent's keys in the index: its claims and all capabilities that contain them. */
  keys: readonly string[] = [];
  /** When the timeline looks at it next; Infinity if never. */
  dueAt = Infinity;
  private judged: Assessment;
  private serialised: string | undefined;

  constructor(
    public entry: DirectoryEntry,
    /** Normalised, with aliases resolved. */
    public claims: readonly string[],
    assessment: Assessment,
    /** The directory's change counter at the last write. */
    public changedAt: number,
  ) {
    this.beatAt = beatOf(entry);
    this.judged = assessment;
  }

  get agentId(): string {
    return this.judged.agentId;
  }

  get assessment(): Assessment {
    return this.judged;
  }

  reassess(assessment: Assessment): void {
    this.judged = assessment;
    this.serialised = undefined;
  }

  /** For a beat that changes nothing but the time of the last beat. */
  recordBeat(beatAt: number): void {
    this.beatAt = beatAt;
    this.serialised = undefined;
  }

  /** The caller reassesses the agent afterwards. */
  rewrite(entry: DirectoryEntry): void {
    this.entry = entry;
    this.beatAt = beatOf(entry);
  }

  /** The entry with the last beat. */
  current(): DirectoryEntry {
    const record = this.withLastBeat(this.entry.record);
    return record === this.entry.record ? this.entry : { ...this.entry, record };
  }

  /** The agent as an answer shows it. */
  view(): CandidateView {
    const { agentCard: _, ...view } = this.withLastBeat(this.judged.record);
    return view;
  }

  /** The view as JSON, kept until the agent changes. */
  document(): string {
    return (this.serialised ??= JSON.stringify(this.view()));
  }

  private withLastBeat(record: AgentRecord): AgentRecord {
    const { health } = record;
    const lastHeartbeat = Number.isFinite(this.beatAt) ? new Date(this.beatAt).toISOString() : null;
    return health.lastHeartbeat === lastHeartbeat ? record : { ...record, health: { ...health, lastHeartbeat } };
  }
}
