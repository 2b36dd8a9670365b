import { Injectable } from '@nestjs/common';
import { Database, qualifiedId } from '#rollcall/platform';
import { AgentProviderRegistry } from '#rollcall/providers';
import {
  AgentAlreadyRegisteredError,
  AgentsService,
  hashOfToken,
  type LeaseCredential,
  LeaseTokenError,
  RegisterAgainError,
  type Registration,
  StaleGenerationError,
} from '#rollcall/registry';
import { AgentNames } from '../../definitions/agent.names.js';
import { type DefinitionContent, maxRunsOf } from '../../definitions/definition.js';
import { DefinitionFacts } from '../../definitions/definition.facts.js';
import type { Blueprint } from '../hosted.agent.js';
import { AgentExistsError } from '../lifecycle.errors.js';
import type { Membership, SpawnedAgent, SpawnedFacts } from '../spawned.agent.js';
import { type RuntimeAgentRow, RuntimeAgentStore } from './runtime-agent.store.js';

const ENDED = [RegisterAgainError, StaleGenerationError, LeaseTokenError];

/** A spawned agent may have the name of its definition, and its spawner owns the name, even if another principal used it before. */
const AS_RUNTIME = { asOperator: true, mayUseReserved: true, becomesOwner: true };

type Joining = Omit<SpawnedFacts, 'spawnedAt'>;

/** Maintains the registrations of spawned agents. The registry decides which of two agents gets a name (S1.2). */
@Injectable()
export class AgentRegistrar {
  constructor(
    private readonly db: Database,
    private readonly agents: AgentsService,
    private readonly store: RuntimeAgentStore,
    private readonly providers: AgentProviderRegistry,
    private readonly names: AgentNames,
    private readonly definitions: DefinitionFacts,
  ) {}

  /** Registers a new agent. Throws AGENT_ALREADY_EXISTS if a live agent has the name, on any replica. */
  async join(facts: Joining, content: DefinitionContent): Promise<Membership & { spawnedAt: Date }> {
    return await this.register(facts, content, null);
  }

  /** Registers an evicted agent again. The eviction may have happened, for example, because the database was not available. */
  async rejoin(agent: SpawnedAgent, { content, revision }: Blueprint): Promise<void> {
    const { generation, leaseToken } = await this.register(agent.facts, content, agent.membership.leaseToken);
    agent.membership = { generation, leaseToken };
    agent.facts.revision = revision;
  }

  /** Updates the registration to a new revision of the definition. */
  async redeclare(agent: SpawnedAgent, { content, revision }: Blueprint): Promise<void> {
    const { definition } = agent.facts;
    const { capabilities, capacity, provider, costModel } = this.registrationOf({ ...agent.facts, revision }, content);
    const label = definitionLabel(definition, revision);
    await this.agents.update(leaseCredentialOf(agent), {
      capabilities,
      capacity,
      provider,
      costModel,
      definition: label,
    });
    const { agentType } = this.providers.get(content.provider);
    Object.assign(agent.facts, { revision, agentType, provider: content.provider });
    await this.store.publish([agent.vitals]);
  }

  /** Ends the registration, unless it has ended already. */
  async leave(agent: SpawnedAgent): Promise<void> {
    await this.end(leaseCredentialOf(agent));
  }

  /** Ends the registration of an agent whose replica does not answer. */
  async evict({ agentId, generation }: RuntimeAgentRow): Promise<void> {
    await this.end({ agentId, generation: Number(generation), tokenHash: null });
  }

  /** Ends the registration of an agent whose replica is lost. If the replica returns, it registers the agent again. */
  async lose({ agentId, generation }: Pick<RuntimeAgentRow, 'agentId' | 'generation'>): Promise<void> {
    await this.db.transaction(async () => {
      if (!(await this.store.lock(agentId, generation))) return;
      await this.agents.remove(agentId, 'evicted');
      await this.store.remove(agentId, Number(generation));
    });
  }

  private async end(credential: LeaseCredential): Promise<void> {
    await this.db.transaction(async () => {
      try {
        await this.agents.deregister(credential, 'shutdown');
      } catch (error) {
        if (!hasEnded(error)) throw error;
      }
      await this.store.remove(credential.agentId, credential.generation); // lock order: the agent first, as in a spawn of this name
    });
  }

  private async register(
    facts: Joining,
    content: DefinitionContent,
    leaseToken: string | null,
  ): Promise<Membership & { spawnedAt: Date }> {
    const { namespace, name, spawnedBy: by } = facts;
    const registration = this.registrationOf(facts, content);
    return await this.db.transaction(async () => {
      await this.names.lockForAgent({ namespace, name }, facts.definition);
      const joined = await this.agents
        .register({ namespace, agentId: name, leaseToken, by, ...AS_RUNTIME, facts: registration })
        .catch((error: unknown) => {
          throw error instanceof AgentAlreadyRegisteredError ? new AgentExistsError(name) : error;
        });
      const { generation } = joined.record;
      const agentId = qualifiedId(namespace, name);
      const limits = facts.definition === null ? limitsOf(content) : { runLimit: null, maxRuns: null };
      const row = { ...facts, ...limits, agentId, generation: String(generation), state: 'idle', inFlight: 0 } as const;
      return { generation, leaseToken: joined.leaseToken, spawnedAt: await this.store.insert(row) };
    });
  }

  private registrationOf({ namespace, name, definition, revision }: Joining, content: DefinitionContent): Registration {
    return {
      name,
      endpoint: null,
      work: 'push',
      idempotent: false,
      agentCard: null,
      capabilities: this.definitions.capabilitiesOf(namespace, content),
      sandboxLevel: 0,
      provider: { adapter: content.provider, type: 'local', plan: null },
      budget: { totalTokens: null, usedTokens: 0, source: 'reported' },
      costModel: this.definitions.costModelOf(namespace, content),
      capacity: content.maxConcurrency ?? null,
      declaredMs: null,
      typicalTokens: null,
      version: null,
      definition: definitionLabel(definition, revision),
      labels: {},
    };
  }
}

/** Whether the registration of the agent has ended, or another agent has its name. */
export function hasEnded(error: unknown): boolean {
  return ENDED.some((kind) => error instanceof kind);
}

export function leaseCredentialOf({ agentId, membership }: SpawnedAgent): LeaseCredential {
  return { agentId, generation: membership.generation, tokenHash: hashOfToken(membership.leaseToken) };
}

function limitsOf(content: DefinitionContent): Pick<RuntimeAgentRow, 'runLimit' | 'maxRuns'> {
  return { runLimit: content.budget ?? null, maxRuns: maxRunsOf(content) };
}

function definitionLabel(definition: string | null, revision: number | null): string | null {
  return definition === null ? null : `${definition}@${revision}`;
}
