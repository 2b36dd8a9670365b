import { Logger } from '@nestjs/common';
import type { Database } from '../postgres/database.js';

export interface GroupCommitOptions<Item, Result> {
  /** The name in log events, such as `heartbeats`. */
  name: string;
  /** Commits a batch and returns one result for each item, in the same order. */
  commit(batch: readonly Item[]): Promise<readonly Result[]>;
  /** Creates the result for the items of a batch that could not be committed. */
  failure(error: unknown): Result;
  maxBatch: number;
  /**
   * Two items with the same key are never in the same batch: the later item waits for the next batch. A batch is sorted
   * by key, so that all replicas lock rows in the same order.
   */
  keyOf?(item: Item): string;
  /** Whether items that wait would fail with the same error. They then fail immediately instead of after another timeout. */
  failsAll?(error: unknown): boolean;
  /**
   * Whether a single item may have caused the error. The batch is then split into halves and tried again, so that only
   * that item fails.
   */
  mayBeOneItem?(error: unknown): boolean;
  /** Called after all items of a batch have their results. */
  onDelivered?(batch: readonly Item[], results: readonly Result[]): void;
}

interface Waiting<Item, Result> {
  item: Item;
  key: string;
  done: (result: Result) => void;
}

/**
 * Commits many items in one transaction: while one batch commits, new items form the next batch. A caller gets its
 * result after the batch is durable. The next batch is sent before the results of the previous one are delivered, so
 * that Postgres and this process work at the same time.
 */
export class GroupCommit<Item, Result> {
  private readonly log = new Logger('group-commit');
  private waiting: Waiting<Item, Result>[] = [];
  private running?: Promise<void>;

  constructor(
    private readonly db: Database,
    private readonly options: GroupCommitOptions<Item, Result>,
  ) {}

  /** Uses a callback, because one promise for each item costs more than all other work on a heartbeat. */
  submit(item: Item, done: (result: Result) => void): void {
    this.waiting.push({ item, key: this.options.keyOf?.(item) ?? '', done });
    this.running ??= this.db.detached(async () => await this.drain());
  }

  async run(item: Item): Promise<Result> {
    return await new Promise((resolve) => this.submit(item, resolve));
  }

  async runAll(items: readonly Item[]): Promise<Result[]> {
    return await new Promise((resolve) => {
      const results: Result[] = [];
      let missing = items.length;
      if (missing === 0) resolve(results);
      for (const [index, item] of items.entries()) {
        this.submit(item, (result) => {
          results[index] = result;
          missing -= 1;
          if (missing === 0) resolve(results);
        });
      }
    });
  }

  /** Resolves when no batch is in progress. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async drain(): Promise<void> {
    await nextIteration(); // items of the same event loop iteration share a batch
    let deliver = (): void => undefined;
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      const items = batch.map(({ item }) => item);
      this.db.counts.add(`batches.${this.options.name}`);
      this.db.counts.add(`batched.${this.options.name}`, items.length);
      const committed = this.commit(items);
      await nextIteration(); // lets the driver send the batch to Postgres
      deliver();
      const results = await committed;
      deliver = () => this.deliver(batch, items, results);
    }
    this.running = undefined; // before the last delivery, because a callback may submit a new item
    deliver();
  }

  private async commit(items: readonly Item[]): Promise<readonly Result[]> {
    const { commit, failure, failsAll, mayBeOneItem } = this.options;
    try {
      return await commit(items);
    } catch (error) {
      if (items.length > 1 && mayBeOneItem?.(error)) return await this.commitHalves(items);
      const result = failure(error);
      if (failsAll?.(error)) this.answerWaiting(result);
      return items.map(() => result);
    }
  }

  private async commitHalves(items: readonly Item[]): Promise<Result[]> {
    const middle = Math.ceil(items.length / 2);
    const first = await this.commit(items.slice(0, middle));
    return [...first, ...(await this.commit(items.slice(middle)))];
  }

  private takeBatch(): Waiting<Item, Result>[] {
    const { maxBatch, keyOf } = this.options;
    if (!keyOf) return this.waiting.splice(0, maxBatch);
    const batch = new Map<string, Waiting<Item, Result>>();
    const later: Waiting<Item, Result>[] = [];
    for (const one of this.waiting) {
      if (batch.size >= maxBatch || batch.has(one.key)) later.push(one);
      else batch.set(one.key, one);
    }
    this.waiting = later;
    return [...batch.values()].toSorted(byKey);
  }

  private answerWaiting(result: Result): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const { done } of waiting) this.call(() => done(result));
  }

  private deliver(batch: readonly Waiting<Item, Result>[], items: readonly Item[], results: readonly Result[]): void {
    const { name, failure, onDelivered } = this.options;
    const missing = (): Result => failure(new Error(`${name}: an item has no result`));
    for (const [index, { done }] of batch.entries())
      this.call(() => done(index < results.length ? results[index] : missing()));
    if (onDelivered) this.call(() => onDelivered(items, results));
  }

  /** If one callback throws, the other callers still get their results. */
  private call(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.log.error({ event: `${this.options.name}.answer_failed`, err: error });
    }
  }
}

function byKey(one: { key: string }, other: { key: string }): number {
  return one.key < other.key ? -1 : 1;
}

function nextIteration(): Promise<void> {
  return new Promise(setImmediate);
}
