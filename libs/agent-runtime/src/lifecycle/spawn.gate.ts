import { type Release, Semaphore } from '#rollcall/platform';
import { AgentsStoppingError } from './lifecycle.errors.js';

/**
 * Makes sure that a shutdown of all agents either includes or rejects an agent that is spawned at the same time (S1.6). A spawn enters
 * before it registers the agent, and leaves when the agent is hosted. A shutdown closes the gate, and waits until no spawn is inside.
 */
export class SpawnGate {
  private readonly inside = new Map<string, Semaphore>();
  private readonly closed = new Map<string, number>();
  private isStopping = false;

  /** Throws if the agents of the namespace are being shut down. */
  check(namespace: string): void {
    if (this.isStopping || this.closed.has(namespace)) throw new AgentsStoppingError();
  }

  /** Returns the function that leaves the gate. */
  enter(namespace: string): Release {
    this.check(namespace);
    const spawns = this.inside.get(namespace) ?? new Semaphore();
    this.inside.set(namespace, spawns);
    const release = spawns.tryAcquire();
    return () => {
      release?.();
      if (spawns.inUse === 0 && this.inside.get(namespace) === spawns) this.inside.delete(namespace);
    };
  }

  /** Rejects new spawns in the namespace while the work runs. The work starts when no spawn is inside. */
  async whileClosed<Value>(namespace: string, work: () => Promise<Value>): Promise<Value> {
    this.closed.set(namespace, (this.closed.get(namespace) ?? 0) + 1);
    try {
      await this.inside.get(namespace)?.idle();
      return await work();
    } finally {
      const others = (this.closed.get(namespace) ?? 1) - 1;
      if (others > 0) this.closed.set(namespace, others);
      else this.closed.delete(namespace);
    }
  }

  /** Rejects all spawns from now on, because the process stops. */
  stop(): void {
    this.isStopping = true;
  }

  /** Resolves when no spawn is inside. */
  async empty(): Promise<void> {
    for (const spawns of this.inside.values()) await spawns.idle();
  }
}
