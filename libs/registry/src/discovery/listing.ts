import type { Assessment } from './assessment.js';
import type { DirectoryEntry } from './directory.entry.js';

/**
 * One agent's place in the directory. It stays the same object while the agent is listed, so orders hold it by reference
 * and only move it when its rank changes; what it says is replaced as a whole.
 */
export class Listing {
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
  ) {}

  get agentId(): string {
    return this.assessment.agentId;
  }

  forgetText(): void {
    this.json = undefined;
    this.prefaces = undefined;
  }
}
