import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  type AgentRecord,
  Directory,
  type DirectoryEntry,
  DirectoryFollower,
  MAX_LIMIT,
  operatorIntent,
  Ranker,
  type Ranking,
  RegistryClock,
  routability,
  StrongReader,
} from '#rollcall/registry';
import {
  type Definition,
  type DefinitionContent,
  type DefinitionKey,
  maxRunsOf,
} from '../../definitions/definition.js';
import { DefinitionsService } from '../../definitions/definitions.service.js';
import { type DefinedAgent, type AgentMeaning, NamedAgents } from '../../definitions/named.agents.js';
import { addressOf } from '../../delegation/targets/agent.connector.js';
import { unavailableText } from '../../delegation/targets/registry.targets.js';
import { type AgentHosting, HostedAgents } from '../../lifecycle/hosted.agents.js';
import { NO_LIMIT, type SpendingLimit } from '../../spending/spending.js';
import { RunTargetMissingError, RunTargetUnavailableError, RunTargetUnknownError } from '../run.errors.js';
import type { Run, RunTarget } from '../run.js';

interface CandidateQuery {
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly prefer?: string;
}

/** The candidates of a query, best first. */
export interface Candidates {
  readonly records: readonly AgentRecord[];
  /** The error if none of them can be used. `uncallable` are those that Rollcall cannot call. */
  unavailable(uncallable: readonly AgentRecord[]): RunTargetUnavailableError;
}

const MAX_EXPLAINED = 20;
const MAX_NAMED = 3;

/** The registered agents that can execute a run now. */
@Injectable()
export class RunCandidates {
  constructor(
    private readonly ranker: Ranker,
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly reader: StrongReader,
    private readonly names: NamedAgents,
  ) {}

  /** Throws RUN_TARGET_UNAVAILABLE if an operator has withdrawn the agent, as far as the directory of this replica knows. */
  checkIntent({ namespace, agentId }: Pick<AgentRecord, 'namespace' | 'agentId'>, hasStarted: boolean): void {
    const record = this.listed({ namespace, name: agentId });
    const withdrawn = record && operatorIntent(record.desiredState);
    if (!withdrawn || (hasStarted && withdrawn.code === 'draining')) return;
    throw new RunTargetUnavailableError(unavailableText(agentId, withdrawn), { exclusions: [withdrawn] });
  }

  /**
   * Rejects with RUN_TARGET_UNKNOWN, or with RUN_TARGET_UNAVAILABLE if the agent cannot receive work. A draining agent finishes
   * its work, so a run that `hasStarted` can use it.
   */
  async get(namespace: string, agentId: string, hasStarted = false): Promise<AgentRecord> {
    await this.follower.refresh();
    const entry = await this.find(namespace, agentId);
    const now = this.directory.advance(this.clock.now());
    if (!entry) throw new RunTargetUnknownError(agentId);
    const exclusions = routability(entry, now).filter(({ code }) => !hasStarted || code !== 'draining');
    const [first] = exclusions;
    if (!first) return entry.record;
    throw new RunTargetUnavailableError(unavailableText(agentId, first), { exclusions }, first.eligibleWhen.inMs);
  }

  /** An agent that the directory of this replica does not contain yet is read from Postgres. */
  async find(namespace: string, agentId: string): Promise<DirectoryEntry | undefined> {
    const id = qualifiedId(namespace, agentId);
    if (!this.directory.find(id)) await this.reader.read(id);
    return this.directory.find(id);
  }

  /** The record in the directory of this replica. An agent that was registered a moment ago may be missing. */
  listed({ namespace, name }: DefinitionKey): AgentRecord | undefined {
    return this.directory.find(qualifiedId(namespace, name))?.record;
  }

  async rank(query: CandidateQuery): Promise<Candidates> {
    await this.follower.refresh();
    const ranking = this.ranker.rank({ ...query, limit: MAX_LIMIT, explain: true }, this.clock.now());
    const records = ranking.candidates.flatMap(({ agent }) => {
      const record = this.directory.find(qualifiedId(agent.namespace, agent.agentId))?.record;
      return record ? [record] : [];
    });
    return {
      records: await this.names.meant(records),
      unavailable: (uncallable) => noneCapable(query.capabilities, ranking, uncallable),
    };
  }
}

/** Why an agent that the ranking contains cannot execute a run. */
const NOT_CALLABLE = {
  code: 'not_callable',
  text: 'it has no endpoint, does not take tasks, and is not hosted by Rollcall',
  eligibleWhen: { text: 'it registers an endpoint or `work: "pull"`' },
};

function noneCapable(
  capabilities: readonly string[],
  ranking: Ranking,
  uncallable: readonly AgentRecord[],
): RunTargetUnavailableError {
  const { unclaimed = [], retryAfterMs } = ranking;
  const silent = uncallable.map(({ agentId, name }) => ({ agentId, name, exclusions: [NOT_CALLABLE] }));
  const excluded = [...silent, ...(ranking.excluded ?? [])].slice(0, MAX_EXPLAINED);
  const wanted =
    capabilities.length === 1 ? `the capability ${capabilities[0]}` : `the capabilities ${capabilities.join(', ')}`;
  const message =
    excluded.length === 0
      ? `No agent and no definition has ${wanted}.`
      : `No agent with ${wanted} can receive work now: ${excluded.slice(0, MAX_NAMED).map(reasonOf).join('; ')}. The details explain why each agent was excluded.`;
  const details = { excluded, unclaimed };
  return new RunTargetUnavailableError(message, details, retryAfterMs ?? undefined);
}

function reasonOf({ agentId, exclusions }: { agentId: string; exclusions: readonly { text: string }[] }): string {
  const [first] = exclusions;
  return `${agentId}: ${first?.text ?? 'it cannot receive work'}`;
}

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
  /** The plugins that a replica needs to execute the run. */
  readonly plugins: readonly string[];
}

/** Chooses the agent that executes a run, when the run starts. */
@Injectable()
export class RunTargets {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly hosted: HostedAgents,
    private readonly candidates: RunCandidates,
    private readonly names: NamedAgents,
  ) {}

  async choose(namespace: string, { agent, definition, capabilities, prefer }: RunTarget): Promise<ChosenAgent> {
    if (definition !== undefined) return await this.defined({ namespace, name: definition });
    if (agent !== undefined) return await this.named({ namespace, name: agent });
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
    throw unavailable(records);
  }

  /** Whether this agent of the registry can execute runs. */
  async canExecute(record: AgentRecord): Promise<boolean> {
    return (await this.callable(record)) !== undefined;
  }

  private async byDefault(namespace: string): Promise<ChosenAgent> {
    const key = { namespace, name: this.definitions.defaultName(namespace) };
    const [agent, hosting] = await Promise.all([this.names.find(key), this.hostOf(key)]);
    if (!agent?.definition) throw new RunTargetMissingError();
    return working(agent, hosting);
  }

  /** A definition is never replaced by an agent of its name. */
  private async defined(key: DefinitionKey): Promise<ChosenAgent> {
    const [agent, hosting] = await Promise.all([this.names.find(key), this.hostOf(key)]);
    if (agent?.definition) return working(agent, hosting);
    return builtFrom(await this.definitions.get(key), hosting); // rejects with DEFINITION_NOT_FOUND, and lists the known names
  }

  /** What the name means: the definition of this name, or else the agent of the registry. */
  private async named(key: DefinitionKey): Promise<ChosenAgent> {
    const [agent, hosting] = await Promise.all([this.names.find(key), this.hostOf(key)]);
    if (agent?.definition) return working(agent, hosting);
    if (!agent) throw new RunTargetUnknownError(key.name, await this.definitions.known(key.namespace));
    const chosen = await this.callable(receiving(key.name, agent).record);
    if (chosen) return chosen;
    throw new RunTargetUnavailableError(`The agent ${key.name} has no endpoint, so Rollcall cannot call it.`);
  }

  /** A spawned agent is registered. Most definitions are not spawned, so the directory avoids a read. */
  private async hostOf(key: DefinitionKey): Promise<AgentHosting | undefined> {
    const record = this.candidates.listed(key);
    return record && !isExternal(record) ? await this.hosted.find(key) : undefined;
  }

  /** An agent without an address is executed by Rollcall if a replica hosts it, or if it is built from the definition of its name. */
  private async callable(record: AgentRecord): Promise<ChosenAgent | undefined> {
    const { namespace, agentId } = record;
    const key = { namespace, name: agentId };
    if (isExternal(record))
      return { agentId, definition: null, limit: NO_LIMIT, maxRuns: null, host: null, plugins: [] };
    const [definition, hosting] = await Promise.all([this.definitions.find(key), this.hosted.find(key)]);
    if (definition) return builtFrom(definition, hosting);
    return hosting && (await this.spawned(key, hosting));
  }

  /** An agent without a definition, or with another name than its definition. The limits of the definition apply. */
  private async spawned({ namespace, name: agentId }: DefinitionKey, hosting: AgentHosting): Promise<ChosenAgent> {
    const { replicaId: host, definition: name, revision, runLimit, maxRuns } = hosting;
    if (name === null || revision === null)
      return { agentId, definition: null, limit: runLimit ?? NO_LIMIT, maxRuns, host, plugins: [] };
    const { content } = await this.definitions.get({ namespace, name });
    return { agentId, definition: { name, revision }, host, ...limitsOf(content) };
  }
}

/** Throws RUN_TARGET_UNAVAILABLE if the agent gets no work. */
function receiving<Agent extends AgentMeaning>(name: string, agent: Agent): Agent {
  const { exclusions } = agent;
  const [first] = exclusions;
  if (!first) return agent;
  throw new RunTargetUnavailableError(unavailableText(name, first), { exclusions }, first.eligibleWhen.inMs);
}

function working(agent: DefinedAgent, hosting: AgentHosting | undefined): ChosenAgent {
  const { definition } = receiving(agent.definition.name, agent);
  return builtFrom(definition, hosting);
}

/** Rollcall runs an agent that has a definition, so an address in its record has no effect. */
export function isExternal(record: AgentRecord): boolean {
  return record.definition === null && addressOf(record) !== undefined;
}

/** The replica that hosts the agent executes the run first; others can build the agent from the definition. */
function builtFrom({ name, revision, content }: Definition, hosting: AgentHosting | undefined): ChosenAgent {
  return { agentId: name, definition: { name, revision }, host: hosting?.replicaId ?? null, ...limitsOf(content) };
}

function limitsOf(content: DefinitionContent): Pick<ChosenAgent, 'limit' | 'maxRuns' | 'plugins'> {
  return { plugins: content.plugins ?? [], limit: content.budget ?? NO_LIMIT, maxRuns: maxRunsOf(content) };
}
