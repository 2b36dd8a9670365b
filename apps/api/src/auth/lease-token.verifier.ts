import { Database } from '#rollcall/platform';
import { LeaseTokenStore } from '#rollcall/registry';

interface Waiting {
  hash: string;
  done: (known: boolean) => void;
  failed: (reason: unknown) => void;
}

const MAX_BATCH = 1_000;

/**
 * Looks up lease tokens that this replica has not cached. While one look-up is in progress, further tokens collect in a batch.
 * So a fleet that reconnects after a restart needs a few statements, not one for each agent.
 */
export class LeaseTokenVerifier {
  private waiting: Waiting[] = [];
  private isRunning = false;

  constructor(
    private readonly db: Database,
    private readonly store: LeaseTokenStore,
  ) {}

  /** Whether the token with this hash belongs, or belonged, to an agent. */
  async isKnown(hash: string): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.waiting.push({ hash, done: resolve, failed: reject });
    if (!this.isRunning) void this.db.detached(async () => await this.run());
    return await promise;
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    await new Promise(setImmediate); // requests of the same event loop iteration share a statement
    while (this.waiting.length > 0) await this.lookUp(this.waiting.splice(0, MAX_BATCH));
    this.isRunning = false;
  }

  private async lookUp(batch: readonly Waiting[]): Promise<void> {
    try {
      const known = await this.store.findKnown(batch.map(({ hash }) => hash));
      for (const { hash, done } of batch) done(known.has(hash));
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}
