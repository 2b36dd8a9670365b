import { LeasedWork } from '../work/leased-work.js';
import type { SinkFactory } from './event.sink.js';
import { type RelayParts, SinkRelay } from './sink.relay.js';
import type { ClaimedSink } from './sink.store.js';

export interface SupervisorOptions extends RelayParts {
  factories: Record<string, SinkFactory>;
  leaseMs?: number;
}

/** Runs one relay for each sink among all replicas: sinks are leased work. */
export class SinkSupervisor {
  private readonly work: LeasedWork<ClaimedSink>;

  constructor(private readonly options: SupervisorOptions) {
    const { sinks, factories, onError, leaseMs } = options;
    const kinds = Object.keys(factories);
    this.work = new LeasedWork({
      store: {
        claim: async (owner, held, forMs) => await sinks.claim(owner, kinds, held, forMs),
        renew: async (held, forMs) => await sinks.renew(held, forMs),
        release: async (held) => await sinks.release(held),
      },
      open: async (claim) => await this.open(claim),
      onError,
      leaseMs,
    });
  }

  /** The sinks that this replica delivers to. */
  get held(): string[] {
    return this.work.held;
  }

  start(): void {
    this.work.start();
  }

  /** A sink was added, changed or removed. */
  wake(): void {
    this.work.wake();
  }

  /** Deliveries in progress end within limits; then other replicas can claim the sinks. */
  async stop(): Promise<void> {
    await this.work.stop();
  }

  /** A sink that cannot be opened shows the error in its status; the next pass tries again. */
  private async open(claim: ClaimedSink): Promise<SinkRelay | undefined> {
    const { sinks, factories, onError } = this.options;
    try {
      const sink = await factories[claim.kind]?.(claim.id);
      return sink && new SinkRelay(claim, sink, this.options);
    } catch (error) {
      onError(error);
      const attempts = Math.max(1, claim.attempts);
      await sinks.save(claim, { cursor: claim.cursor, attempts, dueInMs: 0, error: String(error) });
      return undefined;
    }
  }
}
