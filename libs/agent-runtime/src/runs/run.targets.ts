import { Injectable } from '@nestjs/common';
import type { AgentRecord } from '#rollcall/registry';
import type { Definition, DefinitionContent } from '../definitions/definition.js';
import { maxRunsOf } from '../definitions/definition.limits.js';
import { type DefinitionKey, DefinitionsService } from '../definitions/definitions.service.js';
import { addressOf } from '../delegation/agent.address.js';
import { type AgentHosting, HostedAgents } from '../lifecycle/hosted.agents.js';
import { NO_LIMIT, type SpendingLimit } from '../spending/spending.js';
import { RunCandidates } from './run.candidates.js';
import { RunTargetMissingError, RunTargetUnavailableError } from './run.errors.js';
import type { Run, RunTarget } from './run.js';

/** The agent of a new run. */
export interface ChosenAgent {
  readonly agentId: string;
  /** The definition that the agent is built from; null for an agent outside Rollcall. */
  readonly definition: Run['definition'];
  /** The limit that the definition sets for each run. */
  readonly limit: SpendingLimit;
  /** How many runs of the agent may be queued or running at a time; null: any number. */
  readonly maxRuns: number | null;
  /** The replica that hosts the agent; null if any replica can execute the run. */
  readonly host: string | null;
}

/** Chooses the agent that executes a run, when the run starts. */
@Injectable()
export class RunTargets {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly hosted: HostedAgents,
    private readonly candidates: RunCandidates,
  ) {}

  async choose(namespace: string, { agent, definition, capabilities, prefer }: RunTarget): Promise<ChosenAgent> {
    if (definition !== undefined) return await this.defined({ namespace, name: definition });
    if (agent !== undefined) return await this.registered(namespace, agent);
    if (capabilities === undefined) return await this.byDefault(namespace);
    const { records, unavailable } = await this.candidates.rank({
      namespace,
      capabilities,
      ...(prefer !== undefined && { prefer }),
    });
    for (const record of records) {
      const chosen = await this.callable(record);
      if (chosen) return chosen;
    }
    throw unavailable();
  }

  /** Whether this agent of the registry can execute runs. */
  async canExecute(record: AgentRecord): Promise<boolean> {
    return (await this.callable(record)) !== undefined;
  }

  private async byDefault(namespace: string): Promise<ChosenAgent> {
    const key = { namespace, name: this.definitions.defaultName(namespace) };
    const [definition, hosting] = await Promise.all([this.definitions.find(key), this.hostOf(key)]);
    if (!definition) throw new RunTargetMissingError();
    return builtFrom(definition, hosting);
  }

  private async defined(key: DefinitionKey): Promise<ChosenAgent> {
    return builtFrom(...(await Promise.all([this.definitions.get(key), this.hostOf(key)])));
  }

  /** A spawned agent is registered. Most definitions are not spawned, so the directory avoids a read. */
  private async hostOf(key: DefinitionKey): Promise<AgentHosting | undefined> {
    return this.candidates.isListed(key.namespace, key.name) ? await this.hosted.find(key) : undefined;
  }

  private async registered(namespace: string, agentId: string): Promise<ChosenAgent> {
    const chosen = await this.callable(await this.candidates.get(namespace, agentId));
    if (chosen) return chosen;
    throw new RunTargetUnavailableError(`The agent ${agentId} has no endpoint, so Rollcall cannot call it.`);
  }

  /** An agent without an address is executed by Rollcall if a replica hosts it, or if there is a definition with its name. */
  private async callable(record: AgentRecord): Promise<ChosenAgent | undefined> {
    const { namespace, agentId } = record;
    const key = { namespace, name: agentId };
    if (addressOf(record)) return { agentId, definition: null, limit: NO_LIMIT, maxRuns: null, host: null };
    const [definition, hosting] = await Promise.all([this.definitions.find(key), this.hosted.find(key)]);
    if (definition) return builtFrom(definition, hosting);
    return hosting && (await this.spawned(key, hosting));
  }

  /** An agent without a definition, or with another name than its definition. The limits of the definition apply. */
  private async spawned({ namespace, name: agentId }: DefinitionKey, hosting: AgentHosting): Promise<ChosenAgent> {
    const { replicaId: host, definition: name, revision, runLimit, maxRuns } = hosting;
    if (name === null || revision === null)
      return { agentId, definition: null, limit: runLimit ?? NO_LIMIT, maxRuns, host };
    const { content } = await this.definitions.get({ namespace, name });
    return { agentId, definition: { name, revision }, host, ...limitsOf(content) };
  }
}

/** The replica that hosts the agent executes the run first; others can build the agent from the definition. */
function builtFrom({ name, revision, content }: Definition, hosting: AgentHosting | undefined): ChosenAgent {
  return { agentId: name, definition: { name, revision }, host: hosting?.replicaId ?? null, ...limitsOf(content) };
}

function limitsOf(content: DefinitionContent): Pick<ChosenAgent, 'limit' | 'maxRuns'> {
  return { limit: content.budget ?? NO_LIMIT, maxRuns: maxRunsOf(content) };
}
