import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import { ProviderError } from '#rollcall/providers';
import { AgentNotFoundError, type AgentRecord, AgentsService } from '#rollcall/registry';
import { isPaidByCall } from '../../calls/paid.call.js';
import { DefinitionNotFoundError } from '../../definitions/definition.errors.js';
import type { DefinitionKey } from '../../definitions/definition.js';
import { DefinitionsService } from '../../definitions/definitions.service.js';
import { addressOf } from '../../delegation/targets/agent.connector.js';
import type { DelegationTarget } from '../../delegation/targets/delegation.targets.js';
import { RegistryTargets } from '../../delegation/targets/registry.targets.js';
import { type AgentUse, HostedAgents } from '../../lifecycle/hosted.agents.js';
import { AgentHostedElsewhereError } from '../../lifecycle/lifecycle.errors.js';
import { TaskCalls } from '../../tasks/task.calls.js';
import { RunTargetUnavailableError, RunTargetUnknownError } from '../run.errors.js';
import type { Run } from '../run.js';
import { isExternal, RunCandidates } from '../start/run.targets.js';

/** The agent of a run, ready for one execution. */
export interface OpenAgent {
  readonly target: DelegationTarget;
  /** The revision of its definition; null if it has none. */
  readonly revision: number | null;
  /** Aborted when the agent is shut down. */
  readonly signal?: AbortSignal;
}

const MARK = 'idempotent';

/** Opens the agents of runs: hosted agents on this replica, and agents with an endpoint through the registry and their circuit. */
@Injectable()
export class RunAgents {
  constructor(
    private readonly hosted: HostedAgents,
    private readonly definitions: DefinitionsService,
    private readonly registered: RegistryTargets,
    private readonly candidates: RunCandidates,
    private readonly agents: AgentsService,
    private readonly tasks: TaskCalls,
  ) {}

  async open(run: Run): Promise<OpenAgent> {
    const opened = (await this.isExternal(run)) ? await this.external(run) : await this.own(run);
    const { priceMicroUsd } = run.target;
    return priceMicroUsd === undefined ? opened : { ...opened, target: { ...opened.target, priceMicroUsd } };
  }

  private async isExternal({ namespace, agentId, definition }: Run): Promise<boolean> {
    if (definition) return false;
    const entry = await this.candidates.find(namespace, agentId);
    return !entry || isExternal(entry.record);
  }

  /**
   * A run that has started continues with its revision. The run waits for a slot of the agent: the agent had capacity when the run
   * was accepted, but the call of a run that was just cancelled may still be ending. An agent that is not named like its definition
   * cannot be built again after it was shut down.
   */
  private async use(key: DefinitionKey, { definition, attempts }: Run): Promise<AgentUse> {
    try {
      return await this.hosted.use(key, { pinned: (attempts > 1 && definition) || undefined, waits: true });
    } catch (error) {
      if (error instanceof AgentHostedElsewhereError)
        throw closed(`The replica of the agent ${key.name} does not respond.`);
      if (!(error instanceof DefinitionNotFoundError) || definition?.name === key.name) throw error;
      throw closed(`The agent ${key.name} was shut down before the run could start.`);
    }
  }

  private async own(run: Run): Promise<OpenAgent> {
    const { namespace, definition, agentId: name } = run;
    this.candidates.checkIntent(run, run.attempts > 1);
    const { agent, revision, signal, release } = await this.use({ namespace, name }, run);
    const close = async (): Promise<void> => await Promise.resolve(release());
    try {
      const isIdempotent =
        definition !== null &&
        agent.agentType !== 'in-process' &&
        (await this.isMarked({ namespace, name: definition.name }, revision ?? definition.revision));
      const registered = isPaidByCall(agent) ? await this.registrationOf(run) : undefined;
      return { target: { name, agent, close, isIdempotent, ...(registered && { registered }) }, revision, signal };
    } catch (error) {
      release();
      throw error;
    }
  }

  private async registrationOf({ namespace, agentId }: Run): Promise<DelegationTarget['registered']> {
    const entry = await this.candidates.find(namespace, agentId);
    return entry && { agentId, costModel: entry.record.costModel, typicalTokens: entry.record.typicalTokens };
  }

  /** The agent may have become unavailable while the run was queued. */
  private async external(run: Run): Promise<OpenAgent> {
    const record = await this.recordOf(run);
    if (!addressOf(record)) throw new RunTargetUnavailableError(`The agent ${run.agentId} has no endpoint any more.`);
    return { target: this.registered.connect(record), revision: null };
  }

  /** A run that waits for a task needs the record only for the prices: the agent may have left after it reported the result. */
  private async recordOf({ id, namespace, agentId, attempts }: Run): Promise<AgentRecord> {
    try {
      return await this.candidates.get(namespace, agentId, attempts > 1);
    } catch (error) {
      if (attempts > 1 && (await this.tasks.hasOpen(id))) return await this.agents.get(qualifiedId(namespace, agentId));
      throw error instanceof RunTargetUnknownError ? await this.missing(namespace, agentId) : error;
    }
  }

  /** An agent of a run has no address only if a replica hosted it. */
  private async missing(namespace: string, agentId: string): Promise<Error> {
    try {
      const left = await this.agents.get(qualifiedId(namespace, agentId));
      if (!addressOf(left)) return closed(`The agent ${agentId} was shut down.`);
    } catch (error) {
      if (!(error instanceof AgentNotFoundError)) throw error;
    }
    return new RunTargetUnknownError(agentId);
  }

  private async isMarked(key: DefinitionKey, revision: number): Promise<boolean> {
    return (await this.definitions.revision(key, revision)).content.metadata?.[MARK] === true;
  }
}

function closed(message: string): ProviderError {
  return new ProviderError('AGENT_CLOSED', `${message} Spawn the agent again, then retry the run.`);
}
