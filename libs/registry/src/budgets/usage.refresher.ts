import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { BackgroundFaults, Loop, StopsIn } from '#rollcall/platform';
import { type Budget, rolled } from './budget.js';
import { BudgetLedger } from './ledger/budget.ledger.js';
import type { LedgerOp } from './ledger/ledger.operation.js';
import { BudgetStore } from './store/budget.store.js';

/** A query for the usage of agents since a time, or for their total usage if the time is null. */
interface UsageQuery {
  agentIds: readonly string[];
  since: Date | null;
}

interface SourceUsage {
  tokens: number;
  microUsd: number;
}

/** An external system that counts the usage of agents. An agent that is missing in the result has used nothing there. */
export interface BudgetSource {
  /** The name that agents declare in `budget.source`. */
  readonly name: string;
  usage(query: UsageQuery): Promise<ReadonlyMap<string, SourceUsage>>;
}

interface RefreshResult {
  refreshed: number;
  /** Failed refreshes. The counters of these budgets stay unchanged. */
  failures: { budgets: number; error: Error }[];
}

const MAX_REASON_LENGTH = 300;
const MAX_BATCH = 200;

/**
 * Charges budgets with the usage that a source counted. A refresh never lowers a counter, so a source that lags or has lost data
 * never gives tokens back. If the source fails, the budgets keep their counters and the time of the last refresh.
 */
@Injectable()
export class UsageRefresher {
  constructor(
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
  ) {}

  /** Refreshes in batches, so that the results before a failure are kept. The least recently refreshed budgets come first. */
  async refresh(source: BudgetSource): Promise<RefreshResult> {
    const result: RefreshResult = { refreshed: 0, failures: [] };
    const now = await this.store.now();
    const current = (await this.store.ofSource(source.name)).map((budget) => rolled(budget, now));
    for (const budgets of Map.groupBy(current, sinceOf).values()) await this.refreshAll(source, budgets, result);
    return result;
  }

  /** Refreshes budgets that count from the same time. After a failure, the rest waits for the next refresh. */
  private async refreshAll(source: BudgetSource, budgets: readonly Budget[], result: RefreshResult): Promise<void> {
    for (let start = 0; start < budgets.length; start += MAX_BATCH) {
      const some = budgets.slice(start, start + MAX_BATCH);
      const error = await this.refreshSome(source, some);
      if (error) {
        const rest = budgets.slice(start);
        await this.store.noteRefresh(
          rest.map(({ id }) => id),
          error.message.slice(0, MAX_REASON_LENGTH),
        );
        result.failures.push({ budgets: rest.length, error });
        return;
      }
      result.refreshed += some.length;
    }
  }

  /** Queries the source once for all these budgets. Returns the error if it fails. */
  private async refreshSome(source: BudgetSource, budgets: readonly Budget[]): Promise<Error | undefined> {
    try {
      const usage = await source.usage(queryFor(budgets));
      await this.ledger.applyAll(
        budgets.flatMap(({ id, subject, windowStart: inWindow }): LedgerOp[] => {
          const usedAtLeast = usage.get(subject);
          const facts = { budgetId: id, as: 'refreshed' as const, by: source.name, note: null };
          return usedAtLeast ? [{ op: 'correct', correction: { ...facts, usedAtLeast, inWindow } }] : [];
        }),
      );
      await this.store.noteRefresh(
        budgets.map(({ id }) => id),
        null,
      );
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

function sinceOf({ window, windowStart }: Budget): number | null {
  return window === 'total' ? null : windowStart;
}

function queryFor(budgets: readonly Budget[]): UsageQuery {
  const [first] = budgets;
  const since = first ? sinceOf(first) : null;
  return { agentIds: budgets.map(({ subject }) => subject), since: since === null ? null : new Date(since) };
}

export interface UsageOptions {
  sources: readonly BudgetSource[];
  refreshEveryMs: number;
}

/** Refreshes budgets from each usage source periodically. If a source requests a longer pause, the next refresh waits for it. */
@Injectable()
export class UsageLoops implements OnApplicationBootstrap {
  private readonly log = new Logger('budgets');
  private readonly loops: Loop[];
  private readonly everyMs: number;

  constructor(
    private readonly refresher: UsageRefresher,
    private readonly faults: BackgroundFaults,
    { sources, refreshEveryMs }: UsageOptions,
  ) {
    this.everyMs = refreshEveryMs;
    this.loops = sources.map((source) => this.loopOf(source));
  }

  onApplicationBootstrap(): void {
    for (const loop of this.loops) loop.start();
  }

  @StopsIn('background')
  async stop(): Promise<void> {
    await Promise.all(this.loops.map(async (loop) => await loop.stop()));
  }

  private loopOf(source: BudgetSource): Loop {
    let pauseMs = this.everyMs;
    return new Loop({
      pass: async () => (pauseMs = await this.refresh(source)),
      everyMs: () => pauseMs,
      onError: (error) => this.faults.report('budgets.refresh', error),
    });
  }

  /** Returns the pause until the next refresh. */
  private async refresh(source: BudgetSource): Promise<number> {
    const { refreshed, failures } = await this.refresher.refresh(source);
    let pauseMs = this.everyMs;
    for (const { error, budgets } of failures) {
      this.log.warn({ event: 'budgets.source_failed', source: source.name, budgets, err: error });
      pauseMs = Math.max(pauseMs, retryAfterMs(error));
    }
    if (refreshed > 0) this.log.debug({ event: 'budgets.refreshed', source: source.name, budgets: refreshed });
    return pauseMs;
  }
}

function retryAfterMs(error: Error): number {
  return 'retryAfterMs' in error && typeof error.retryAfterMs === 'number' ? error.retryAfterMs : 0;
}
