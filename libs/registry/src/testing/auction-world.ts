import type { Offer } from '../contracts/auction/bid.js';
import type { Contract } from '../contracts/contract.js';
import type { TranscriptEntry } from '../contracts/store/transcript.store.js';
import type { RegistryOptions } from '../registry.options.js';
import type { ContractParts } from './contract-parts.js';
import type { GivenAgent } from './given-agents.js';
import { TwoReplicas } from './two-replicas.js';

const NEVER_STALE = { catchUpMs: 3_600_000, staleMs: 3_600_000 };

export const keyOf = ({ namespace, id }: Contract): { namespace: string; id: string } => ({ namespace, id });

export const offer = (overrides: Partial<Offer> = {}): { offer: Offer } => ({
  offer: { price: 1_000, etaMs: 1_000, confidence: 0.9, note: null, ...overrides },
});

/** Two replicas, and two agents that can bid: `fast` and `cheap`. */
export class AuctionWorld {
  private constructor(
    readonly replicas: TwoReplicas,
    readonly fast: GivenAgent,
    readonly cheap: GivenAgent,
  ) {}

  static async start(options: Partial<RegistryOptions> = {}): Promise<AuctionWorld> {
    const replicas = await TwoReplicas.start({ follower: NEVER_STALE, ...options });
    await replicas.here.follower.follow();
    const fast = await replicas.given.agent({ agentId: 'fast' });
    return new AuctionWorld(replicas, fast, await replicas.given.agent({ agentId: 'cheap' }));
  }

  get here(): ContractParts {
    return this.replicas.here.contracts;
  }

  get there(): ContractParts {
    return this.replicas.there.contracts;
  }

  async stop(): Promise<void> {
    await this.replicas.stop();
  }

  async now(contract: Contract): Promise<Contract> {
    return (await this.here.service.get(keyOf(contract))).contract;
  }

  async transcript(contract: Contract): Promise<TranscriptEntry[]> {
    return [...(await this.here.service.get(keyOf(contract))).transcript];
  }

  /** Both agents bid; `cheap` has the better bid. */
  async bothBid(contract: Contract): Promise<void> {
    await this.here.bidding.bid(keyOf(contract), this.fast.credential, offer({ price: 9_000, etaMs: 500 }));
    await this.there.bidding.bid(keyOf(contract), this.cheap.credential, offer({ price: 1_000, etaMs: 1_000 }));
  }

  /** Moves the deadline of bids and awards into the past. */
  async elapse(ms: number): Promise<void> {
    await this.replicas.database.db.query(
      `UPDATE contract SET deadline = deadline - $1 * interval '1 millisecond', due_at = due_at - $1 * interval '1 millisecond',
         confirm_by = confirm_by - $1 * interval '1 millisecond'`,
      [ms],
    );
  }

  /** The money that is reserved for awards. */
  async held(): Promise<number> {
    const [row] = await this.replicas.database.db.query<{ held: string }>(
      `SELECT coalesce(sum(held_micro_usd), 0) AS held FROM budget_reservation WHERE state = 'held'`,
    );
    return Number(row?.held);
  }
}
