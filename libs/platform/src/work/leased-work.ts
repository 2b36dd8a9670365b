import { randomUUID } from 'node:crypto';
import { Loop } from '../loop.js';

/** The right to work on one row until the lease ends. Every write of the worker is fenced by the token. */
export interface WorkClaim {
  id: string;
  token: string;
}

/** The SQL of one kind of leased rows. */
export interface WorkStore<Claim extends WorkClaim> {
  /** Claims rows that are free or whose lease has ended, with `FOR UPDATE SKIP LOCKED`. */
  claim(owner: string, held: readonly string[], leaseMs: number): Promise<Claim[]>;
  /** Renews and returns the ids that are still held. */
  renew(held: readonly Claim[], leaseMs: number): Promise<Set<string>>;
  /** Frees the rows, so that another replica can claim them at once. */
  release(held: readonly Claim[]): Promise<void>;
}

export interface Worker<Claim extends WorkClaim> {
  /** As of now, with the progress that a renewal or a release records. */
  readonly claim: Claim;
  /** Settles when the work has ended; `failed` when it should not be claimed again at once. */
  run(): Promise<'ended' | 'failed'>;
  /** Asks it to end soon. */
  stop(): Promise<void>;
}

export interface LeasedWorkOptions<Claim extends WorkClaim> {
  store: WorkStore<Claim>;
  /** Undefined when there is nothing to do for the claim. */
  open(claim: Claim): Promise<Worker<Claim> | undefined>;
  onError(error: unknown): void;
  leaseMs?: number;
  everyMs?: number;
}

const LEASE_MS = 15_000;
const EVERY_MS = 2_000;

/**
 * Keeps one worker at each row among all replicas: claims free rows, renews the leases it holds, and stops the workers whose
 * lease was lost. Rows of a dead replica are claimed by others when their leases end; a replica that shuts down in order hands
 * its rows over at once. A replica that cannot renew stops its workers before their leases end elsewhere.
 */
export class LeasedWork<Claim extends WorkClaim> {
  private readonly owner = randomUUID();
  private readonly workers = new Map<string, Worker<Claim>>();
  private readonly loop: Loop;
  private readonly leaseMs: number;
  private renewedAt = performance.now();

  constructor(private readonly options: LeasedWorkOptions<Claim>) {
    const { onError, leaseMs = LEASE_MS, everyMs = EVERY_MS } = options;
    this.leaseMs = leaseMs;
    this.loop = new Loop({ pass: async () => await this.pass(), everyMs: () => everyMs, onError });
  }

  /** The ids of the rows that this replica works on. */
  get held(): string[] {
    return [...this.workers.keys()];
  }

  start(): void {
    this.loop.start();
  }

  /** There may be rows to claim. */
  wake(): void {
    this.loop.wake();
  }

  async pass(): Promise<void> {
    await this.renew();
    const claims = await this.options.store.claim(this.owner, this.held, this.leaseMs);
    await Promise.all(claims.map(async (claim) => await this.open(claim)));
  }

  /** Work in progress ends within the workers' own limits; then the rows are handed over. */
  async stop(): Promise<void> {
    await this.loop.stop();
    const workers = [...this.workers.values()];
    await Promise.all(workers.map(async (worker) => await worker.stop()));
    const held = workers.map(({ claim }) => claim);
    if (held.length > 0) await this.options.store.release(held).catch(this.options.onError);
  }

  private async renew(): Promise<void> {
    const workers = [...this.workers.values()];
    const askedAt = performance.now();
    try {
      const held = workers.map(({ claim }) => claim);
      const still = held.length > 0 ? await this.options.store.renew(held, this.leaseMs) : new Set<string>();
      this.renewedAt = askedAt;
      for (const worker of workers) if (!still.has(worker.claim.id)) void worker.stop();
    } catch (error) {
      if (askedAt - this.renewedAt >= this.leaseMs) for (const worker of workers) void worker.stop();
      throw error;
    }
  }

  /** One row whose worker cannot be opened must not keep the others from theirs. */
  private async open(claim: Claim): Promise<void> {
    try {
      const worker = await this.options.open(claim);
      if (!worker) return;
      this.workers.set(claim.id, worker);
      void this.follow(worker);
    } catch (error) {
      this.options.onError(error);
    }
  }

  private async follow(worker: Worker<Claim>): Promise<void> {
    const end = await worker.run();
    this.workers.delete(worker.claim.id);
    if (end === 'ended') this.loop.wake(); // a failed one waits for the next pass
  }
}
