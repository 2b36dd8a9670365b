import { Injectable } from '@nestjs/common';
import { NamespaceAdmission, NamespaceNotFoundError } from '#rollcall/platform';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { SpendingLimit } from '../spending/spending.js';

export interface OpenBudget {
  readonly namespace: string;
  readonly runId: string;
  /** The agent of the registry that is charged, too. */
  readonly agentId: string | null;
  readonly limit: SpendingLimit;
}

/** What must be possible before a run exists: its namespace and its budget. */
@Injectable()
export class RunAdmission {
  constructor(
    private readonly spending: LedgerSpending,
    private readonly namespaces: NamespaceAdmission,
  ) {}

  /** The namespace cannot be deleted until the transaction ends. */
  async holdNamespace(namespace: string): Promise<void> {
    if (!(await this.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
  }

  /** Rejects with SPENDING_LIMIT_REACHED if not even one token can be reserved. */
  async open({ namespace, runId, agentId, limit }: OpenBudget): Promise<void> {
    await this.spending.openRun({ namespace, runId, parentRunId: null, limit });
    const amount = { tokens: 1, microUsd: 0 };
    const hold = await this.spending.hold({ namespace, runId, agentId, key: 'start', amount });
    await hold.release();
  }
}

/** The lower of both limits. Null means no limit. */
export function lowerLimit(one: SpendingLimit, other: SpendingLimit): SpendingLimit {
  return { tokens: lower(one.tokens, other.tokens), microUsd: lower(one.microUsd, other.microUsd) };
}

function lower(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
