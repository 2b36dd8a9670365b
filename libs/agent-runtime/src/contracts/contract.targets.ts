import { Injectable } from '@nestjs/common';
import { localIdOf, qualifiedId } from '#rollcall/platform';
import {
  type Contract,
  CONTRACT_NET,
  ContractOutcomes,
  ContractSelection,
  DEFAULT_SELECTION_MS,
  Directory,
} from '#rollcall/registry';
import { AgentConnector } from '../delegation/agent.connector.js';
import { DelegationTargetUnknownError } from '../delegation/delegation.errors.js';
import {
  type DelegationResult,
  type DelegationTarget,
  type DelegationTargets,
  isOnPath,
  type ListedTarget,
  type WantedAgent,
} from '../delegation/delegation.targets.js';
import { HostedAgents } from '../lifecycle/hosted.agents.js';
import type { RunContext } from '../loop/run.context.js';

const NOT_HERE = 'Use list_agents, another strategy, or do the task yourself.';

/** Finds the agent of a delegation by an auction, if the model prefers `contract-net`. */
@Injectable()
export class ContractTargets implements DelegationTargets {
  constructor(
    private readonly selection: ContractSelection,
    private readonly outcomes: ContractOutcomes,
    private readonly directory: Directory,
    private readonly connector: AgentConnector,
    private readonly hosted: HostedAgents,
  ) {}

  async list(): Promise<readonly ListedTarget[]> {
    return await Promise.resolve([]); // the other sources list all agents
  }

  /** Undefined if the model wants no auction. */
  async open(wanted: WantedAgent, run: RunContext): Promise<DelegationTarget | undefined> {
    if ('name' in wanted || wanted.prefer !== CONTRACT_NET) return undefined;
    const contract = await this.auction(wanted, run);
    const name = localIdOf(contract.winner ?? '');
    if (isOnPath(name, run) || (wanted.among && !wanted.among.has(name)))
      throw new DelegationTargetUnknownError(`The auction chose ${name}, which this run cannot call. ${NOT_HERE}`);
    await this.selection.release(contract); // the delegated run reserves and pays for itself
    return { ...(await this.connect(name, run)), ended: async (result) => await this.record(contract, result) };
  }

  private async auction(wanted: Exclude<WantedAgent, { name: string }>, run: RunContext): Promise<Contract> {
    const { capabilities, task = capabilities.join(', '), waitMs = DEFAULT_SELECTION_MS } = wanted;
    const { namespace, runId } = run;
    const by = `run:${runId}`;
    const payer = qualifiedId(namespace, by);
    const { contract } = await this.selection.select({ namespace, capabilities, task, waitMs, by, payer });
    if (contract.state === 'confirmed') return contract;
    const why = contract.expiryReason ?? 'the time is over';
    throw new DelegationTargetUnknownError(
      `No agent with the capabilities ${capabilities.join(', ')} won the auction: ${why}. ${NOT_HERE}`,
    );
  }

  /** An agent with an address is called over it, and any other one must be hosted by this replica. */
  private async connect(name: string, { namespace }: RunContext): Promise<DelegationTarget> {
    const record = this.directory.find(qualifiedId(namespace, name))?.record;
    const connection = record && this.connector.connect(record);
    const registered = record && { agentId: name, costModel: record.costModel };
    if (connection) return { name, agent: connection.agent, registered, close: async () => await connection.release() };
    const use = await this.hosted.use({ namespace, name });
    return { name, agent: use.agent, registered, close: async () => await Promise.resolve(use.release()) };
  }

  private async record({ namespace, id, by }: Contract, { ok, usage = {} }: DelegationResult): Promise<void> {
    const { costMicroUsd: microUsd = null } = usage;
    await this.outcomes.record({ namespace, id }, { by, mayManage: false }, { ok, microUsd, tokens: null, ms: null });
  }
}
