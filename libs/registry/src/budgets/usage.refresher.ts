import { Injectable } from '@nestjs/common';
import { rolled, type Budget } from './budget.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import type { LedgerOp } from './ledger.batch.js';

/** What agents used since a moment, or ever when it is null. */
export interface UsageQuestion {
  agentIds: readonly string[];
  since: Date | null;
}

export interface ReportedUsage {
  tokens: number;
  microUsd: number;
}

/** Someone else who counts what agents use. An agent that is not in the answer has used nothing there. */
export interface BudgetSource {
  /** As agents name it in `budget.source`. */
  readonly name: string;
  usage(question: UsageQuestion): Promise<ReadonlyMap<string, ReportedUsage>>;
}

export interface RefreshResult {
  refreshed: number;
  /** Why it did not work for some: their counters stay what they were. */
  failures: { budgets: number; error: Error }[];
}

const LONGEST_REASON = 300;

/**
 * Takes over what a usage source counted. A count only ever rises by it: a source that lags, or answers nothing after an
 * outage, never gives tokens back. When it fails, the budgets keep their numbers, and say since when those are true.
 */
@Injectable()
export class UsageRefresher {
  constructor(
    private readonly store: BudgetStore,
    private readonly ledger: BudgetLedger,
  ) {}

  async refresh(source: BudgetSource): Promise<RefreshResult> {
    const result: RefreshResult = { refreshed: 0, failures: [] };
    const now = await this.store.now();
    const current = (await this.store.ofSource(source.name)).map((budget) => rolled(budget, now));
    for (const budgets of Map.groupBy(current, sinceOf).values()) {
      const error = await this.refreshAll(source, budgets);
      if (error) result.failures.push({ budgets: budgets.length, error });
      else result.refreshed += budgets.length;
    }
    return result;
  }

  /** Those that count from the same moment, so that the source is asked once for all of them. */
  private async refreshAll(source: BudgetSource, budgets: readonly Budget[]): Promise<Error | undefined> {
    const ids = budgets.map(({ id }) => id);
    try {
      const usage = await source.usage(questionFor(budgets));
      await this.ledger.applyAll(
        budgets.flatMap(({ id, subject }): LedgerOp[] => {
          const usedAtLeast = usage.get(subject);
          const facts = { budgetId: id, as: 'refreshed' as const, by: source.name, note: null };
          return usedAtLeast ? [{ op: 'correct', correction: { ...facts, usedAtLeast } }] : [];
        }),
      );
      await this.store.noteRefresh(ids, null);
      return undefined;
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      await this.store.noteRefresh(ids, reason.message.slice(0, LONGEST_REASON));
      return reason;
    }
  }
}

function sinceOf({ window, windowStart }: Budget): number | null {
  return window === 'total' ? null : windowStart;
}

function questionFor(budgets: readonly Budget[]): UsageQuestion {
  const [first] = budgets;
  const since = first ? sinceOf(first) : null;
  return { agentIds: budgets.map(({ subject }) => subject), since: since === null ? null : new Date(since) };
}
