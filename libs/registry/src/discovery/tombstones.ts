import { isNewer, type Revision } from './directory.entry.js';

interface Tombstone extends Revision {
  since: number;
}

/**
 * Markers for removed agents, so that a late write does not list them again. A tombstone is kept as long as a write can be late;
 * then it is deleted.
 */
export class Tombstones {
  private readonly byAgent = new Map<string, Tombstone>();

  constructor(private readonly keepMs: number) {}

  get size(): number {
    return this.byAgent.size;
  }

  /** Keeps the newer revision if the agent has a tombstone already. */
  put(agentId: string, removal: Revision, now: number): void {
    const known = this.byAgent.get(agentId);
    const { generation, revision } = known && isNewer(known, removal) ? known : removal;
    this.byAgent.delete(agentId); // inserted again at the end, so that the oldest come first
    this.byAgent.set(agentId, { generation, revision, since: now });
    this.dropOld(now);
  }

  /** Whether this write is from before the removal. */
  covers(agentId: string, write: Revision): boolean {
    const tombstone = this.byAgent.get(agentId);
    return tombstone !== undefined && !isNewer(write, tombstone);
  }

  delete(agentId: string): void {
    this.byAgent.delete(agentId);
  }

  private dropOld(now: number): void {
    for (const [agentId, { since }] of this.byAgent) {
      if (since + this.keepMs > now) return;
      this.byAgent.delete(agentId);
    }
  }
}
