import { Injectable } from '@nestjs/common';
import { localIdOf, qualifiedId } from '#rollcall/platform';
import {
  type Contract,
  CONTRACT_NET,
  ContractOutcomes,
  ContractSelection,
  DEFAULT_SELECTION_MS,
  operatorIntent,
} from '#rollcall/registry';
import { NamedAgents } from '../definitions/named.agents.js';
import { DelegationTargetUnknownError } from '../delegation/delegation.errors.js';
import { AgentConnector } from '../delegation/targets/agent.connector.js';
import {
  type DelegationResult,
  type DelegationTarget,
  type DelegationTargets,
  isOnPath,
  type ListedTarget,
  type WantedAgent,
} from '../delegation/targets/delegation.targets.js';
import { unavailableText } from '../delegation/targets/registry.targets.js';
import { HostedAgents } from '../lifecycle/hosted.agents.js';
import { AgentHostedElsewhereError } from '../lifecycle/lifecycle.errors.js';
import type { RunContext } from '../loop/run.context.js';
import { RemoteAgents } from './remote.agents.js';
import { tokensOf } from './run.cost.js';

const ADVICE = 'Use list_agents, another strategy, or do the task yourself.';

/** Connects a delegation to the winner of an auction: over its endpoint, on this replica, or on another one. */
@Injectable()
export class WinnerConnector {
  constructor(
    private readonly names: NamedAgents,
    private readonly connector: AgentConnector,
    private readonly hosted: HostedAgents,
    private readonly remote: RemoteAgents,
  ) {}

  /** An agent with an endpoint is called over it. Any other agent is called by the replica that hosts it. */
  async connect(namespace: string, name: string): Promise<DelegationTarget> {
    const { definition, record } = await this.names.get({ namespace, name });
    const withdrawn = record && operatorIntent(record.desiredState);
    if (withdrawn) throw new DelegationTargetUnknownError(`${unavailableText(name, withdrawn)} ${ADVICE}`);
    const connection = definition ? undefined : record && this.connector.connect(record);
    const registered = record && { agentId: name, costModel: record.costModel, typicalTokens: record.typicalTokens };
    if (connection) {
      const { agent, isIdempotent, pull, release: close } = connection;
      return { name, agent, registered, isIdempotent, ...(pull && { pull }), close };
    }
    return { ...(await this.own(namespace, name)), registered };
  }

  private async own(namespace: string, name: string): Promise<DelegationTarget> {
    try {
      const { agent, release } = await this.hosted.use({ namespace, name });
      return { name, agent, close: async () => await Promise.resolve(release()) };
    } catch (error) {
      if (!(error instanceof AgentHostedElsewhereError)) throw error;
      return { name, agent: this.remote.agent(name), close: async () => await Promise.resolve() };
    }
  }
}

/** Finds the agent of a delegation by an auction, if the model prefers `contract-net`. */
@Injectable()
export class ContractTargets implements DelegationTargets {
  constructor(
    private readonly selection: ContractSelection,
    private readonly outcomes: ContractOutcomes,
    private readonly winners: WinnerConnector,
  ) {}

  async list(): Promise<readonly ListedTarget[]> {
    return await Promise.resolve([]); // the other sources list all agents
  }

  /** Returns undefined if the model does not ask for an auction. */
  async open(wanted: WantedAgent, run: RunContext): Promise<DelegationTarget | undefined> {
    if ('name' in wanted || wanted.prefer !== CONTRACT_NET) return undefined;
    const contract = await this.auction(wanted, run);
    await this.selection.release(contract); // the delegated run reserves and pays for itself
    try {
      const target = await this.winners.connect(run.namespace, localIdOf(contract.winner ?? ''));
      const priceMicroUsd = await this.outcomes.priceOf(contract);
      return { ...target, priceMicroUsd, ended: async (result) => await this.reportOutcome(contract, result) };
    } catch (error) {
      await this.reportOutcome(contract, { ok: false });
      throw error;
    }
  }

  /** Invites only agents that this run can call. */
  private async auction(wanted: Exclude<WantedAgent, { name: string }>, run: RunContext): Promise<Contract> {
    const { capabilities, task = capabilities.join(', '), waitMs = DEFAULT_SELECTION_MS, among, signal } = wanted;
    const { namespace, runId } = run;
    const by = `run:${runId}`;
    const request = { namespace, capabilities, task, waitMs, by, payer: qualifiedId(namespace, by) };
    const accepts = (agentId: string): boolean => !isOnPath(agentId, run) && (!among || among.has(agentId));
    const { contract } = await this.selection.select({ ...request, rules: { accepts, mustRun: true } }, signal);
    if (contract.state === 'confirmed') return contract;
    const why = contract.expiryReason ?? 'the time is over';
    throw new DelegationTargetUnknownError(
      `No agent with the capabilities ${capabilities.join(', ')} won the auction: ${why}. ${ADVICE}`,
    );
  }

  private async reportOutcome({ namespace, id, by }: Contract, { ok, usage = {} }: DelegationResult): Promise<void> {
    const cost = { microUsd: usage.costMicroUsd ?? null, tokens: tokensOf(usage), ms: null };
    await this.outcomes.record({ namespace, id }, { by, mayManage: false }, { ok, ...cost });
  }
}
