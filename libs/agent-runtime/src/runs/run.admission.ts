import { Injectable } from '@nestjs/common';
import { NamespaceAdmission, NamespaceNotFoundError } from '#rollcall/platform';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { SpendingLimit } from '../spending/spending.js';
import type { Run } from './run.js';

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

  /** Rejects with SPENDING_LIMIT_REACHED if not even one token can be reserved. `agentId`: the registered agent that is charged. */
  async checkBudget(namespace: string, agentId: string | null, limit: SpendingLimit): Promise<void> {
    await this.spending.check(namespace, agentId, limit);
  }

  /** Opens the budget of the run, in the transaction that stores the run. */
  async openBudget({ namespace, id: runId, limit }: Pick<Run, 'namespace' | 'id' | 'limit'>): Promise<void> {
    await this.spending.createRun({ namespace, runId, parentRunId: null, limit });
  }
}

/** The lower of both limits. Null means no limit. */
export function lowerLimit(one: SpendingLimit, other: SpendingLimit): SpendingLimit {
  return { tokens: lower(one.tokens, other.tokens), microUsd: lower(one.microUsd, other.microUsd) };
}

function lower(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}
