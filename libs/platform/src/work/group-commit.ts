import { Logger } from '@nestjs/common';
import type { Database } from '../postgres/database.js';

export interface GroupCommitOptions<Item, Result> {
  /** In log events, such as `heartbeats`. */
  name: string;
  /** Commits a batch. The result at each index answers the item at that index. */
  commit(batch: readonly Item[]): Promise<readonly Result[]>;
  /** The result of every item of a batch that could not be committed. */
  failure(error: unknown): Result;
  largestBatch: number;
  /** Two items with the same key never share a batch: the later one waits for the next. */
  keyOf?(item: Item): string;
  /** Whether the error will meet the items that wait as well; they are then answered at once instead of one timeout later. */
  failsAll?(error: unknown): boolean;
}

interface Waiting<Item, Result> {
  item: Item;
  done: (result: Result) => void;
}

/**
 * Commits items in groups: while one batch commits, the next one collects, so a thousand callers cost one transaction. An item
 * is answered after its batch is durable. The next batch is sent before the results of the previous one are delivered, so that
 * Postgres works while this process answers.
 */
export class GroupCommit<Item, Result> {
  private readonly log = new Logger('group-commit');
  private waiting: Waiting<Item, Result>[] = [];
  private running?: Promise<void>;

  constructor(
    private readonly db: Database,
    private readonly options: GroupCommitOptions<Item, Result>,
  ) {}

  /** With a callback, because a promise for each item costs more than the rest of a heartbeat. */
  submit(item: Item, done: (result: Result) => void): void {
    this.waiting.push({ item, done });
    this.running ??= this.db.detached(async () => await this.drain());
  }

  async run(item: Item): Promise<Result> {
    return await new Promise((resolve) => this.submit(item, resolve));
  }

  /** Settles when no batch is in progress. */
  async idle(): Promise<void> {
    await this.running;
  }

  private async drain(): Promise<void> {
    await nextTick(); // items that arrive in this turn of the event loop share a batch
    let deliver = (): void => undefined;
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      const committed = this.commit(batch);
      await nextTick(); // the batch is sent to Postgres
      deliver();
      const results = await committed;
      deliver = () => this.deliver(batch, results);
    }
    this.running = undefined; // before the last results are delivered: a caller may submit again at once
    deliver();
  }

  private async commit(batch: readonly Waiting<Item, Result>[]): Promise<readonly Result[]> {
    const { commit, failure, failsAll } = this.options;
    try {
      return await commit(batch.map(({ item }) => item));
    } catch (error) {
      const result = failure(error);
      if (failsAll?.(error)) this.answerWaiting(result);
      return batch.map(() => result);
    }
  }

  private takeBatch(): Waiting<Item, Result>[] {
    const { largestBatch, keyOf } = this.options;
    if (!keyOf) return this.waiting.splice(0, largestBatch);
    const batch = new Map<string, Waiting<Item, Result>>();
    const later: Waiting<Item, Result>[] = [];
    for (const one of this.waiting) {
      const key = keyOf(one.item);
      if (batch.size >= largestBatch || batch.has(key)) later.push(one);
      else batch.set(key, one);
    }
    this.waiting = later;
    return [...batch.values()];
  }

  private answerWaiting(result: Result): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const { done } of waiting) this.answer(done, result);
  }

  private deliver(batch: readonly Waiting<Item, Result>[], results: readonly Result[]): void {
    for (const [index, { done }] of batch.entries()) {
      const missing = (): Result => this.options.failure(new Error(`${this.options.name}: an item has no result`));
      this.answer(done, index < results.length ? results[index] : missing());
    }
  }

  /** One caller that throws must not keep the others from their results. */
  private answer(done: (result: Result) => void, result: Result): void {
    try {
      done(result);
    } catch (error) {
      this.log.error({ event: `${this.options.name}.answer_failed`, err: error });
    }
  }
}

function nextTick(): Promise<void> {
  return new Promise(setImmediate);
}
