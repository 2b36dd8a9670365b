import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Loop } from './loop.js';
import { Semaphore } from './semaphore.js';

/** The right to work on one row until the lease ends. The token fences every write of the worker. */
export interface WorkClaim {
  id: string;
  token: string;
}

/** The database operations for one kind of leased rows. */
interface WorkStore<Claim extends WorkClaim> {
  /** Claims rows without a valid lease, with `FOR UPDATE SKIP LOCKED`. */
  claim(owner: string, held: readonly string[], leaseMs: number): Promise<Claim[]>;
  /** Renews the leases and returns the ids that are still held. */
  renew(held: readonly Claim[], leaseMs: number): Promise<Set<string>>;
  /** Ends the leases, so that another replica can claim the rows immediately. */
  release(held: readonly Claim[]): Promise<void>;
}

/** After `failed`, the row is not claimed again before the next regular pass. */
export type WorkEnd = 'ended' | 'failed';

export interface Worker<Claim extends WorkClaim> {
  /** The claim with its current progress, which a renewal or a release saves. */
  readonly claim: Claim;
  /** Resolves when the work has ended. */
  run(): Promise<WorkEnd>;
  /** Stops the worker, and resolves when it has ended. */
  stop(): Promise<void>;
}

export interface LeasedWorkOptions<Claim extends WorkClaim> {
  store: WorkStore<Claim>;
  /** Creates the worker of a claim; undefined if there is nothing to do. */
  open(claim: Claim): Promise<Worker<Claim> | undefined>;
  onError(error: unknown): void;
  leaseMs?: number;
  /** How often leases are renewed. */
  everyMs?: number;
  /** If true, a pass after `wake` only claims rows, unless a renewal is due. Useful if `wake` is called often. */
  claimsOnWake?: boolean;
  /** Whether there may be more rows to claim after a worker has ended. The default is true. */
  mayHaveMore?(): boolean;
}

const LEASE_MS = 15_000;
const EVERY_MS = 2_000;
/** If a lease cannot be renewed, its workers stop at this share of its duration: the rest is time for work in progress to end. */
const USABLE_SHARE = 2 / 3;

/**
 * Runs exactly one worker for each row among all replicas. It claims free rows, renews its leases, and stops the
 * workers whose lease was lost. When a replica crashes, other replicas claim its rows after the leases have ended; when
 * it shuts down normally, it hands them over immediately. A replica that cannot renew its leases stops its workers
 * before the leases end. A frozen replica cannot do that, so the token fences its late writes.
 */
export class LeasedWork<Claim extends WorkClaim> {
  /** Identifies this replica in the leases of its rows. */
  readonly owner = randomUUID();
  private readonly workers = new Map<string, Worker<Claim>>();
  private readonly loop: Loop;
  /** A replica may claim its own rows again, so a claim must know the rows that the claim before it got. */
  private readonly passes = new Semaphore(1);
  private readonly leaseMs: number;
  private expiry?: NodeJS.Timeout;
  private renewedAt = -Infinity;
  private isStopped = false;
  /** Work that a request begins must not keep the context of the request, such as its open transaction. */
  private readonly outsideRequests = AsyncLocalStorage.snapshot();

  constructor(private readonly options: LeasedWorkOptions<Claim>) {
    const { onError, leaseMs = LEASE_MS, everyMs = EVERY_MS, claimsOnWake = false } = options;
    this.leaseMs = leaseMs;
    this.loop = new Loop({
      pass: async () => {
        if (claimsOnWake && this.isRenewed(everyMs)) await this.passes.run(async () => await this.claim());
        else await this.pass();
      },
      everyMs: () => everyMs,
      onError,
    });
  }

  /** The ids of the rows that this replica works on. */
  get held(): string[] {
    return [...this.workers.keys()];
  }

  start(): void {
    this.loop.start();
  }

  /** Starts a pass, because there may be rows to claim. */
  wake(): void {
    this.loop.wake();
  }

  /** Renews all leases, and claims free rows. Passes never overlap. */
  async pass(): Promise<void> {
    await this.passes.run(async () => {
      await this.renew();
      await this.claim();
    });
  }

  /**
   * Works on a row that was stored together with a lease of this `owner`, so it needs no claim. The lease is renewed like all others.
   * After `stop`, the row is handed over instead.
   */
  async adopt(claim: Claim): Promise<void> {
    await this.outsideRequests(async () => await this.open(claim));
  }

  /**
   * Stops all workers, and hands each row over to other replicas when its worker has ended. Until then its lease is renewed: a worker
   * may need longer than a lease to end.
   */
  async stop(): Promise<void> {
    await this.loop.stop();
    this.isStopped = true;
    const workers = [...this.workers.values()];
    await this.renewedUntil(Promise.all(workers.map(async (worker) => await this.handOver(worker))));
    clearTimeout(this.expiry);
  }

  private async handOver(worker: Worker<Claim>): Promise<void> {
    await this.end(worker);
    this.workers.delete(worker.claim.id);
    await this.options.store.release([worker.claim]).catch(this.options.onError);
  }

  private async renewedUntil(ended: Promise<unknown>): Promise<void> {
    const { everyMs = EVERY_MS, onError } = this.options;
    const over = ended.then(() => true);
    for (;;) {
      const pause = new AbortController();
      const isOver = await Promise.race([over, delay(everyMs, false, { signal: pause.signal }).catch(() => false)]);
      pause.abort();
      if (isOver) return;
      await this.renew().catch(onError);
    }
  }

  private async claim(): Promise<void> {
    const claims = await this.options.store.claim(this.owner, this.held, this.leaseMs);
    await Promise.all(claims.map(async (claim) => await this.open(claim)));
  }

  private isRenewed(everyMs: number): boolean {
    return performance.now() - this.renewedAt < everyMs;
  }

  private async renew(): Promise<void> {
    const workers = [...this.workers.values()];
    const askedAt = performance.now();
    const held = workers.map(({ claim }) => claim);
    const still = held.length > 0 ? await this.options.store.renew(held, this.leaseMs) : new Set<string>();
    this.renewedAt = askedAt;
    this.expectRenewalBy(askedAt + this.leaseMs * USABLE_SHARE);
    for (const worker of workers) if (!still.has(worker.claim.id)) void this.end(worker);
  }

  /** Stops all workers if there is no other renewal before this time. */
  private expectRenewalBy(time: number): void {
    clearTimeout(this.expiry);
    const stopAll = (): void => {
      for (const worker of this.workers.values()) void this.end(worker);
    };
    this.expiry = setTimeout(stopAll, Math.max(0, time - performance.now())).unref();
  }

  /** If the worker of one row cannot be created, other rows are not affected. */
  private async open(claim: Claim): Promise<void> {
    try {
      const worker = await this.options.open(claim);
      if (!worker) return;
      if (this.isStopped) return await this.options.store.release([claim]);
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
    if (end === 'ended' && (this.options.mayHaveMore?.() ?? true)) this.loop.wake();
  }

  private async end(worker: Worker<Claim>): Promise<void> {
    await worker.stop().catch(this.options.onError);
  }
}
