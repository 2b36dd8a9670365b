import { Inject, Injectable } from '@nestjs/common';
import { DatabaseBusyError, NamespaceAdmission, NamespaceNotFoundError } from '#rollcall/platform';
import { AgentBusyError } from '../lifecycle/lifecycle.errors.js';
import { LedgerSpending } from '../spending/ledger.spending.js';
import type { SpendingLimit } from '../spending/spending.js';
import { RunDeadlinePassedError } from './run.errors.js';
import type { Run } from './run.js';
import { RunStore } from './run.store.js';
import type { ChosenAgent } from './run.targets.js';
import { RUNS_OPTIONS, type RunsOptions } from './runs.options.js';

type BusyAgent = Pick<ChosenAgent, 'agentId' | 'maxRuns'>;

/** Checks what a run needs before it can exist: its namespace, its deadline, its budget, and the capacity of its agent. */
@Injectable()
export class RunAdmission {
  constructor(
    private readonly spending: LedgerSpending,
    private readonly namespaces: NamespaceAdmission,
    private readonly store: RunStore,
    @Inject(RUNS_OPTIONS) private readonly options: Pick<RunsOptions, 'now'>,
  ) {}

  checkDeadline(deadline: number | null): void {
    if (deadline !== null && deadline <= this.options.now()) throw new RunDeadlinePassedError();
  }

  /** The namespace cannot be deleted until the transaction ends. */
  async holdNamespace(namespace: string): Promise<void> {
    if (!(await this.namespaces.hold([namespace])).has(namespace)) throw new NamespaceNotFoundError(namespace);
  }

  /** Rejects with AGENT_BUSY if the agent has as many runs as it accepts. */
  async checkCapacity(namespace: string, { agentId, maxRuns }: BusyAgent): Promise<void> {
    if (maxRuns === null) return;
    if ((await this.store.countActive(namespace, agentId)) >= maxRuns) throw new AgentBusyError(agentId, maxRuns);
  }

  /** Like `checkCapacity`, but also prevents other runs of the agent from starting before the transaction ends. */
  async lockCapacity(namespace: string, agent: BusyAgent): Promise<void> {
    const { agentId, maxRuns } = agent;
    if (maxRuns === null) return;
    try {
      await this.store.lockStarts(namespace, agentId);
    } catch (error) {
      throw error instanceof DatabaseBusyError ? new AgentBusyError(agentId, maxRuns, error) : error;
    }
    await this.checkCapacity(namespace, agent);
  }

  /** Rejects with SPENDING_LIMIT_REACHED if not even one token can be reserved. Checks the budget of the agent as well. */
  async checkBudget(namespace: string, agentId: string, limit: SpendingLimit): Promise<void> {
    await this.spending.check(namespace, agentId, limit);
  }

  /** Opens the budget of the run, in the transaction that stores the run. */
  async openBudget(
    { namespace, id: runId, limit }: Pick<Run, 'namespace' | 'id' | 'limit'>,
    parentRunId: string | null = null,
  ): Promise<void> {
    await this.spending.createRun({ namespace, runId, parentRunId, limit });
  }
}
