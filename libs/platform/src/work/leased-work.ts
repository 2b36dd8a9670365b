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
  /** Renews the leases and returns the ids that are still held. */
  renew(held: readonly Claim[], leaseMs: number): Promise<Set<string>>;
  /** Frees the rows, so that another replica can claim them at once. */
  release(held: readonly Claim[]): Promise<void>;
}

/** `failed`: the row is not claimed again before the next regular pass. */
export type WorkEnd = 'ended' | 'failed';

export interface Worker<Claim extends WorkClaim> {
  /** The claim with the progress that a renewal or a release saves. */
  readonly claim: Claim;
  /** Settles when the work has ended. */
  run(): Promise<WorkEnd>;
  /** Asks the worker to end soon, and settles when it has ended. */
  stop(): Promise<void>;
}

export interface LeasedWorkOptions<Claim extends WorkClaim> {
  store: WorkStore<Claim>;
  /** Undefined when there is nothing to do for the claim. */
  open(claim: Claim): Promise<Worker<Claim> | undefined>;
  onError(error: unknown): void;
  leaseMs?: number;
  /** How often leases are renewed. */
  everyMs?: number;
}

const LEASE_MS = 15_000;
const EVERY_MS = 2_000;
/** The last third of a lease is for work in progress to end when the lease cannot be renewed. */
const USABLE_SHARE = 2 / 3;

/**
 * Runs one worker for each row among all replicas: claims free rows, renews the leases it holds, and stops the workers whose
 * lease was lost. Other replicas claim the rows of a dead replica when the leases end; a replica that shuts down in order hands
 * its rows over at once. A replica that cannot renew its leases stops its workers before the leases end. A replica that was
 * frozen cannot do that: the token fences its late writes.
 */
export class LeasedWork<Claim extends WorkClaim> {
  private readonly owner = randomUUID();
  private readonly workers = new Map<string, Worker<Claim>>();
  private readonly loop: Loop;
  private readonly leaseMs: number;
  private expiry?: NodeJS.Timeout;

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
    clearTimeout(this.expiry);
    const workers = [...this.workers.values()];
    await Promise.all(workers.map(async (worker) => await this.end(worker)));
    const held = workers.map(({ claim }) => claim);
    if (held.length > 0) await this.options.store.release(held).catch(this.options.onError);
  }

  private async renew(): Promise<void> {
    const workers = [...this.workers.values()];
    const askedAt = performance.now();
    const held = workers.map(({ claim }) => claim);
    const still = held.length > 0 ? await this.options.store.renew(held, this.leaseMs) : new Set<string>();
    this.expectRenewalBy(askedAt + this.leaseMs * USABLE_SHARE);
    for (const worker of workers) if (!still.has(worker.claim.id)) void this.end(worker);
  }

  /** Without another renewal by then, all workers stop. */
  private expectRenewalBy(time: number): void {
    clearTimeout(this.expiry);
    const stopAll = (): void => {
      for (const worker of this.workers.values()) void this.end(worker);
    };
    this.expiry = setTimeout(stopAll, time - performance.now()).unref();
  }

  /** A row whose worker cannot be opened does not affect the other rows. */
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
    const end = await worker.run().catch((error: unknown): WorkEnd => {
      this.options.onError(error);
      return 'failed';
    });
    this.workers.delete(worker.claim.id);
    if (end === 'ended') this.loop.wake();
  }

  private async end(worker: Worker<Claim>): Promise<void> {
    await worker.stop().catch(this.options.onError);
  }
}
