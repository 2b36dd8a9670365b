import { Injectable } from '@nestjs/common';
import { NamespaceAdmission, NamespaceNotFoundError } from '#rollcall/platform';
import { AgentBusyError } from '../lifecycle/lifecycle.errors.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { SpendingLimit } from '../spending/spending.js';
import { RunStore } from './run.store.js';
import type { ChosenAgent } from './run.targets.js';

export interface OpenBudget {
  readonly namespace: string;
  readonly runId: string;
  /** The agent of the registry that is charged, too. */
  readonly agentId: string | null;
  readonly limit: SpendingLimit;
}

/** What must be possible before a run exists: its namespace, its budget, and a place among the runs of its agent. */
@Injectable()
export class RunAdmission {
  constructor(
    private readonly spending: LedgerSpending,
    private readonly namespaces: NamespaceAdmission,
    private readonly store: RunStore,
  ) {}

  /** The namespace cannot be deleted until the transaction ends. */
  async holdNamespace(namespace: string): Promise<void> {
    if (!(await this.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
  }

  /** Rejects with AGENT_BUSY if the agent has as many runs as it accepts. Until the transaction ends, no other run of it can start. */
  async checkRoom(namespace: string, { agentId, maxRuns }: Pick<ChosenAgent, 'agentId' | 'maxRuns'>): Promise<void> {
    if (maxRuns === null) return;
    const runs = await this.store.lockAndCount(namespace, agentId);
    if (runs >= maxRuns) throw new AgentBusyError(agentId, maxRuns);
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
