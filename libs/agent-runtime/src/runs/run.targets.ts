import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  type AgentRecord,
  Directory,
  DirectoryFollower,
  MAX_LIMIT,
  Ranker,
  type Ranking,
  RegistryClock,
  routability,
} from '#rollcall/registry';
import { addressOf } from '../delegation/agent.address.js';
import { DefinitionsService } from '../definitions/definitions.service.js';
import { HostedAgents } from '../lifecycle/hosted.agents.js';
import type { SpendingLimit } from '../spending/spending.js';
import { RunTargetMissingError, RunTargetUnavailableError, RunTargetUnknownError } from './run.errors.js';
import type { Run, RunTarget } from './run.js';

/** The agent of a new run. */
export interface ChosenAgent {
  readonly agentId: string;
  /** The definition that the agent is built from; null for an agent outside Rollcall. */
  readonly definition: Run['definition'];
  /** The limit that the definition sets for each run. */
  readonly limit: SpendingLimit;
  /** The replica that hosts the agent; null if any replica can execute the run. */
  readonly host: string | null;
}

const NO_LIMIT: SpendingLimit = { tokens: null, microUsd: null };
const MAX_EXPLAINED = 20;

/** Chooses the agent that executes a run, when the run starts. */
@Injectable()
export class RunTargets {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly ranker: Ranker,
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly hosted: HostedAgents,
  ) {}

  async choose(namespace: string, { agent, definition, capabilities, prefer }: RunTarget): Promise<ChosenAgent> {
    if (definition !== undefined) return await this.defined(namespace, definition);
    if (agent === undefined && capabilities === undefined) return await this.byDefault(namespace);
    await this.follower.refresh();
    if (agent !== undefined) return await this.registered(namespace, agent);
    return await this.capable({ namespace, capabilities, ...(prefer !== undefined && { prefer }) });
  }

  private async byDefault(namespace: string): Promise<ChosenAgent> {
    const name = this.definitions.defaultName(namespace);
    if (!(await this.definitions.has({ namespace, name }))) throw new RunTargetMissingError();
    return await this.defined(namespace, name);
  }

  private async defined(namespace: string, name: string): Promise<ChosenAgent> {
    const { revision, content } = await this.definitions.get({ namespace, name });
    const host = (await this.hosted.hostOf({ namespace, name })) ?? null;
    return { agentId: name, definition: { name, revision }, limit: content.budget ?? NO_LIMIT, host };
  }

  private async registered(namespace: string, agentId: string): Promise<ChosenAgent> {
    const now = this.directory.advance(this.clock.now());
    const entry = this.directory.find(qualifiedId(namespace, agentId));
    if (!entry) throw new RunTargetUnknownError(agentId);
    const [exclusion, ...others] = routability(entry, now);
    if (exclusion) {
      const { text, eligibleWhen } = exclusion;
      const message = `The agent ${agentId} cannot receive work now: ${text}. It can when ${eligibleWhen.text}.`;
      throw new RunTargetUnavailableError(message, { exclusions: [exclusion, ...others] }, eligibleWhen.inMs);
    }
    const chosen = await this.callable(entry.record);
    if (chosen) return chosen;
    throw new RunTargetUnavailableError(`The agent ${agentId} has no endpoint, so Rollcall cannot call it.`);
  }

  private async capable(query: {
    namespace: string;
    capabilities?: readonly string[];
    prefer?: string;
  }): Promise<ChosenAgent> {
    const ranking = this.ranker.rank({ ...query, limit: MAX_LIMIT, explain: true }, this.clock.now());
    for (const { agent } of ranking.candidates) {
      const record = this.directory.find(qualifiedId(agent.namespace, agent.agentId))?.record;
      const chosen = record && (await this.callable(record));
      if (chosen) return chosen;
    }
    throw noneCapable(query.capabilities ?? [], ranking);
  }

  /** An agent without an address is executed by Rollcall if a replica hosts it, or if there is a definition of its name. */
  private async callable(record: AgentRecord): Promise<ChosenAgent | undefined> {
    const { namespace, agentId } = record;
    const key = { namespace, name: agentId };
    if (addressOf(record)) return { agentId, definition: null, limit: NO_LIMIT, host: null };
    if (await this.definitions.has(key)) return await this.defined(namespace, agentId);
    const host = await this.hosted.hostOf(key);
    return host === undefined ? undefined : { agentId, definition: null, limit: NO_LIMIT, host };
  }
}

function noneCapable(capabilities: readonly string[], ranking: Ranking): RunTargetUnavailableError {
  const { excluded = [], unclaimed = [], retryAfterMs } = ranking;
  const message = `No agent with the capabilities ${capabilities.join(', ')} can receive work now. The details explain why each agent was excluded.`;
  const details = { excluded: excluded.slice(0, MAX_EXPLAINED), unclaimed };
  return new RunTargetUnavailableError(message, details, retryAfterMs ?? undefined);
}
