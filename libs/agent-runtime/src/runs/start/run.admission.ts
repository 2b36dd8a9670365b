import { Inject, Injectable } from '@nestjs/common';
import { DatabaseBusyError, NamespaceAdmission, NamespaceNotFoundError, type Quota } from '#rollcall/platform';
import { AgentBusyError } from '../../lifecycle/lifecycle.errors.js';
import { RunDeadlinePassedError, RunQueueFullError } from '../run.errors.js';
import { RUNS_OPTIONS, type RunsOptions } from '../runs.options.js';
import { type QueueKey, RunStore } from '../store/run.store.js';
import type { ChosenAgent } from './run.targets.js';

type BusyAgent = Pick<ChosenAgent, 'agentId' | 'maxRuns'>;

/** Checks what a run needs before it can exist: its namespace, its deadline, the capacity of its agent, and room in the queue. */
@Injectable()
export class RunAdmission {
  constructor(
    private readonly namespaces: NamespaceAdmission,
    private readonly store: RunStore,
    @Inject(RUNS_OPTIONS) private readonly options: Pick<RunsOptions, 'now' | 'queue'>,
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
      await Promise.all([this.store.lockStarts(namespace, agentId), this.checkCapacity(namespace, agent)]);
    } catch (error) {
      throw error instanceof DatabaseBusyError ? new AgentBusyError(agentId, maxRuns, error) : error;
    }
  }

  /**
   * Rejects with RUN_QUEUE_FULL if the namespace or the credential has as many queued runs as it may have (S-5). Runs that are queued
   * at the same moment are not counted, so starts do not wait for one another.
   */
  async checkQueue(key: QueueKey): Promise<void> {
    const { perNamespace, perCredential } = this.options.queue;
    if (perNamespace.limit === 0 && perCredential.limit === 0) return;
    const limits = { namespace: perNamespace.limit, credential: perCredential.limit };
    const { namespace, credential } = await this.store.countQueued(key, limits);
    if (isReached(perCredential, credential)) throw new RunQueueFullError('credential', perCredential);
    if (isReached(perNamespace, namespace)) throw new RunQueueFullError('namespace', perNamespace);
  }
}

function isReached({ limit }: Quota, count: number): boolean {
  return limit > 0 && count >= limit;
}
