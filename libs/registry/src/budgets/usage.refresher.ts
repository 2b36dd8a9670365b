import { Injectable } from '@nestjs/common';
import { rolled, type Budget } from './budget.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import type { LedgerOp } from './ledger.batch.js';

/** A query for the usage of agents since a time, or for their total usage if the time is null. */
export interface UsageQuery {
  agentIds: readonly string[];
  since: Date | null;
}

export interface ReportedUsage {
  tokens: number;
  microUsd: number;
}

/** An external system that counts the usage of agents. An agent that is missing in the result has used nothing there. */
export interface BudgetSource {
  /** The name that agents declare in `budget.source`. */
  readonly name: string;
  usage(query: UsageQuery): Promise<ReadonlyMap<string, ReportedUsage>>;
}

export interface RefreshResult {
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
