import { Injectable } from '@nestjs/common';
import { rolled, type Budget } from './budget.js';
import { BudgetLedger } from './budget.ledger.js';
import { BudgetStore } from './budget.store.js';
import type { LedgerOp } from './ledger.batch.js';

/** What agents used since a moment, or ever when it is null. */
export interface UsageQuery {
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
  usage(question: UsageQuery): Promise<ReadonlyMap<string, ReportedUsage>>;
}

export interface RefreshResult {
  refreshed: number;
  /** Why it did not work for some: their counters stay what they were. */
  failures: { budgets: number; error: Error }[];
}

const LONGEST_REASON = 300;
const MOST_AT_ONCE = 200;

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

  /** Those whose count is the oldest first, and not all of many at once: what was learned before a fault is kept. */
  async refresh(source: BudgetSource): Promise<RefreshResult> {
    const result: RefreshResult = { refreshed: 0, failures: [] };
    const now = await this.store.now();
    const current = (await this.store.ofSource(source.name)).map((budget) => rolled(budget, now));
    for (const budgets of Map.groupBy(current, sinceOf).values()) await this.refreshAll(source, budgets, result);
    return result;
  }

  /** Those that count from the same moment. After a fault the rest is left for the next time. */
  private async refreshAll(source: BudgetSource, budgets: readonly Budget[], result: RefreshResult): Promise<void> {
    for (let start = 0; start < budgets.length; start += MOST_AT_ONCE) {
      const some = budgets.slice(start, start + MOST_AT_ONCE);
      const error = await this.refreshSome(source, some);
      if (error) {
        const rest = budgets.slice(start);
        await this.store.noteRefresh(
          rest.map(({ id }) => id),
          error.message.slice(0, LONGEST_REASON),
        );
        result.failures.push({ budgets: rest.length, error });
        return;
      }
      result.refreshed += some.length;
    }
  }

  /** Asks the source once for all of them. */
  private async refreshSome(source: BudgetSource, budgets: readonly Budget[]): Promise<Error | undefined> {
    try {
      const usage = await source.usage(questionFor(budgets));
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

function questionFor(budgets: readonly Budget[]): UsageQuery {
  const [first] = budgets;
  const since = first ? sinceOf(first) : null;
  return { agentIds: budgets.map(({ subject }) => subject), since: since === null ? null : new Date(since) };
}
