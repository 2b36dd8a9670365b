import { Database } from '#rollcall/platform';
import { LeaseTokenStore } from '#rollcall/registry';

interface Waiting {
  hash: string;
  done: (known: boolean) => void;
  failed: (reason: unknown) => void;
}

const LARGEST_BATCH = 1_000;

/**
 * Proves lease tokens that this replica has not seen yet. While one look-up is in progress the next ones collect, so that a fleet
 * that reconnects after a restart costs a few statements and not one for each agent.
 */
export class LeaseProofs {
  private waiting: Waiting[] = [];
  private isRunning = false;

  constructor(
    private readonly db: Database,
    private readonly store: LeaseTokenStore,
  ) {}

  /** Whether the token with this hash is, or was, an agent's. */
  async isKnown(hash: string): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.waiting.push({ hash, done: resolve, failed: reject });
    if (!this.isRunning) void this.db.detached(async () => await this.run());
    return await promise;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    await new Promise(setImmediate); // requests that arrive in the same turn of the event loop share a statement
    while (this.waiting.length > 0) await this.look(this.waiting.splice(0, LARGEST_BATCH));
    this.isRunning = false;
  }

  private async look(batch: readonly Waiting[]): Promise<void> {
    try {
      const known = await this.store.findKnown(batch.map(({ hash }) => hash));
      for (const { hash, done } of batch) done(known.has(hash));
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}
