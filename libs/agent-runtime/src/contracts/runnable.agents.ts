import { Injectable } from '@nestjs/common';
import { type AgentRecord, ContractInviters } from '#rollcall/registry';
import { RunTargets } from '../runs/start/run.targets.js';

/** Contracts that start a run invite only agents that can execute one: agents with an endpoint, and agents that Rollcall executes. */
@Injectable()
export class RunnableAgents {
  constructor(
    private readonly targets: RunTargets,
    inviters: ContractInviters,
  ) {
    inviters.runnable = async (agents) => await this.among(agents);
  }

  private async among(agents: readonly AgentRecord[]): Promise<AgentRecord[]> {
    const canRun = await Promise.all(agents.map(async (agent) => await this.targets.canExecute(agent)));
    return agents.filter((_, index) => canRun[index]);
  }
}
