import { Database, namespaceOf } from '#rollcall/platform';
import { LeaseTokenStore } from '#rollcall/registry';

interface Waiting {
  hash: string;
  done: (namespace: string | undefined) => void;
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

  /** Returns the namespace of the agent that the token belongs, or belonged, to; undefined if there is none. */
  async namespaceOf(hash: string): Promise<string | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<string | undefined>();
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
      const agentIds = await this.store.findAgents(batch.map(({ hash }) => hash));
      for (const { hash, done } of batch) {
        const agentId = agentIds.get(hash);
        done(agentId === undefined ? undefined : namespaceOf(agentId));
      }
    } catch (error) {
      for (const { failed } of batch) failed(error);
    }
  }
}
