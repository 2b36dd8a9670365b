import { randomUUID } from 'node:crypto';
import { Loop } from '../loop.js';
import type { SinkFactory } from './event.sink.js';
import { type RelayParts, SinkRelay } from './sink.relay.js';
import type { ClaimedSink } from './sink.store.js';

export interface SupervisorOptions extends RelayParts {
  factories: Record<string, SinkFactory>;
  leaseMs?: number;
}

const LEASE_MS = 15_000;
const EVERY_MS = 2_000;

/**
 * Keeps one relay at each sink, among all replicas: takes sinks nobody is at, renews those it has, and lets go of those
 * that were taken away. When a replica dies its sinks are taken by others once their leases have run out; one that stops
 * in order hands them over at once.
 */
export class SinkSupervisor {
  private readonly owner = randomUUID();
  private readonly relays = new Map<string, SinkRelay>();
  private readonly loop: Loop;

  constructor(private readonly options: SupervisorOptions) {
    const { onError } = options;
    this.loop = new Loop({ pass: async () => await this.pass(), everyMs: () => EVERY_MS, onError });
  }

  /** The sinks this replica delivers to. */
  get held(): string[] {
    return [...this.relays.keys()];
  }

  start(): void {
    this.loop.start();
  }

  /** Something about sinks has changed. */
  wake(): void {
    this.loop.wake();
  }

  async pass(): Promise<void> {
    await this.renew();
    const { leaseMs = LEASE_MS, factories, sinks } = this.options;
    const kinds = Object.keys(factories);
    for (const row of await sinks.claim(this.owner, kinds, this.held, leaseMs))
      await this.open({ ...row, cursor: Number(row.cursor) });
  }

  /** What is under way ends, within limits; then others may have what we had. */
  async stop(): Promise<void> {
    await this.loop.stop();
    const relays = [...this.relays.values()];
    await Promise.all(relays.map(async (relay) => await relay.stop()));
    const held = relays.map((relay) => relay.held);
    if (held.length > 0) await this.options.sinks.release(held).catch(this.options.onError);
  }

  private async renew(): Promise<void> {
    const relays = [...this.relays.values()];
    if (relays.length === 0) return;
    const { sinks, leaseMs = LEASE_MS } = this.options;
    const still = await sinks.renew(
      relays.map((relay) => relay.held),
      leaseMs,
    );
    for (const relay of relays) if (!still.has(relay.claim.id)) void relay.stop();
  }

  private async open(claim: ClaimedSink): Promise<void> {
    const sink = await this.make(claim);
    if (!sink) return;
    const relay = new SinkRelay(claim, sink, this.options);
    this.relays.set(claim.id, relay);
    void this.follow(relay);
  }

  private async follow(relay: SinkRelay): Promise<void> {
    const end = await relay.run();
    this.relays.delete(relay.claim.id);
    if (end === 'over') this.loop.wake(); // else the next pass is soon enough
  }

  /** One sink that cannot be made must not keep the others from being. */
  private async make(claim: ClaimedSink): ReturnType<SinkFactory> {
    const { sinks, factories, onError } = this.options;
    try {
      return await factories[claim.kind]?.(claim.id);
    } catch (error) {
      onError(error);
      const attempts = Math.max(1, claim.attempts);
      await sinks.save(claim, { cursor: claim.cursor, attempts, dueInMs: 0, error: String(error) });
      return undefined;
    }
  }
}
