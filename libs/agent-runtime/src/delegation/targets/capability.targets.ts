import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  agentBudget,
  type AgentRecord,
  capabilityKeys,
  Directory,
  DirectoryFollower,
  MAX_LIMIT,
  Ranker,
  RegistryClock,
} from '#rollcall/registry';
import { DefinitionFacts, type DefinedParts } from '../../definitions/definition.facts.js';
import { DefinitionsService } from '../../definitions/definitions.service.js';
import { NATIVE } from '../../definitions/definition.js';
import type { RunContext } from '../../loop/run.context.js';
import { DefinitionTargets } from './definition.targets.js';
import {
  type DelegatingParent,
  type DelegationTarget,
  type DelegationTargets,
  isOnPath,
  type ListedTarget,
  type WantedAgent,
} from './delegation.targets.js';
import { addressOf } from './agent.connector.js';
import { RegistryTargets } from './registry.targets.js';

type WantedCapabilities = Exclude<WantedAgent, { name: string }>;

/**
 * Finds the best agent with some capabilities among the definitions of the namespace and the agents of the live registry: both are ranked by the
 * same strategy (M-5). A definition has the price of its preset, unless it states one, and the load and the latency of its live agent, if it is spawned.
 */
@Injectable()
export class CapabilityTargets implements DelegationTargets {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly facts: DefinitionFacts,
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly ranker: Ranker,
    private readonly defined: DefinitionTargets,
    private readonly registered: RegistryTargets,
  ) {}

  async list(): Promise<readonly ListedTarget[]> {
    return await Promise.resolve([]); // the other sources list all agents
  }

  /** Returns undefined if no definition has the capabilities; the live registry then chooses alone. */
  async open(wanted: WantedAgent, run: RunContext, parent?: DelegatingParent): Promise<DelegationTarget | undefined> {
    if ('name' in wanted) return undefined;
    const { namespace } = run;
    const defined = await this.definedFor(wanted, run);
    if (defined.length === 0) return undefined;
    await this.follower.refresh();
    const { capabilities, prefer, among } = wanted;
    const query = { namespace, capabilities, limit: MAX_LIMIT, ...(prefer !== undefined && { prefer }) };
    const own = new Map(defined.map((record) => [record.agentId, record]));
    for (const record of this.ranker.orderWith(query, this.clock.now(), defined)) {
      const { agentId: name } = record;
      if (isOnPath(name, run) || (among && !among.has(name))) continue;
      if (own.has(name)) return await this.defined.open({ name }, run, parent);
      if (addressOf(record) && (await this.registered.isMeant(record))) return this.registered.connect(record);
    }
    return undefined;
  }

  /** Claimed and wanted capabilities are compared as in a query of the live registry. */
  private async definedFor({ capabilities, among }: WantedCapabilities, run: RunContext): Promise<AgentRecord[]> {
    const { aliases } = this.directory;
    const wanted = capabilities.map((one) => aliases.resolve(one));
    const all = await this.definitions.capableByName(run.namespace);
    return all.flatMap(({ name, capabilities: claimed, parts }) => {
      if (isOnPath(name, run) || (among && !among.has(name))) return [];
      const keys = new Set(capabilityKeys(aliases.resolveAll(claimed)));
      return wanted.every((one) => keys.has(one)) ? [this.recordOf(run.namespace, name, claimed, parts)] : [];
    });
  }

  private recordOf(namespace: string, name: string, capabilities: readonly string[], parts: DefinedParts): AgentRecord {
    const live = this.directory.find(qualifiedId(namespace, name))?.record;
    const isOwn = live?.definition?.startsWith(`${name}@`) === true;
    const costModel = this.facts.costModelOf(namespace, parts);
    if (live && isOwn) return { ...live, costModel };
    return { ...IDLE, agentId: name, namespace, name, capabilities, costModel, provider: providerOf(parts) };
  }
}

function providerOf({ provider = NATIVE }: DefinedParts): AgentRecord['provider'] {
  return { adapter: provider, type: 'local', plan: null };
}

/** An agent that is not spawned can be built at any time. */
const IDLE = {
  status: 'active',
  endpoint: null,
  work: 'push',
  idempotent: false,
  agentCard: null,
  sandboxLevel: 0,
  budget: agentBudget({ totalTokens: null, usedTokens: 0, source: 'reported' }),
  health: { state: 'active', lastHeartbeat: null, consecutiveFailures: 0, circuitBreakerState: 'closed' },
  registeredAt: '',
  lastTaskAt: null,
  generation: 0,
  definition: null,
  desiredState: 'active',
  load: { inFlight: 0, capacity: null, ratio: 0 },
  latency: { declaredMs: null, observedMs: null },
  typicalTokens: null,
  version: null,
  labels: {},
  owner: '',
  leaveReason: null,
  leftAt: null,
} as const;
