import { isNewer, type Revision } from './directory.entry.js';

interface Fence extends Revision {
  since: number;
}

/**
 * Where removed agents stood, so that news that was slow to arrive does not bring them back. A fence is kept for as long as
 * news can be late, then forgotten, oldest first.
 */
export class Fences {
  private readonly byAgent = new Map<string, Fence>();

  constructor(private readonly keepMs: number) {}

  get size(): number {
    return this.byAgent.size;
  }

  put(agentId: string, at: Revision, now: number): void {
    const standing = this.byAgent.get(agentId);
    const { generation, revision } = standing && isNewer(standing, at) ? standing : at;
    this.byAgent.delete(agentId); // put back at the end, so that the oldest stay in front
    this.byAgent.set(agentId, { generation, revision, since: now });
    this.forget(now);
  }

  /** Whether this write is from before the removal. */
  stops(agentId: string, write: Revision): boolean {
    const fence = this.byAgent.get(agentId);
    return fence !== undefined && !isNewer(write, fence);
  }

  lift(agentId: string): void {
    this.byAgent.delete(agentId);
  }

  private forget(now: number): void {
    for (const [agentId, { since }] of this.byAgent) {
      if (since + this.keepMs > now) return;
      this.byAgent.delete(agentId);
    }
  }
}
