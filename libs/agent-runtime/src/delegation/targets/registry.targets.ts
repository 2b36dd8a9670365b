import { Injectable } from '@nestjs/common';
import { qualifiedId } from '#rollcall/platform';
import {
  type AgentRecord,
  capabilityKeys,
  Directory,
  DirectoryFollower,
  type Exclusion,
  MAX_LIMIT,
  type RankedCandidate,
  Ranker,
  RegistryClock,
  routability,
} from '#rollcall/registry';
import { NamedAgents } from '../../definitions/named.agents.js';
import type { RunContext } from '../../loop/run.context.js';
import { DelegationTargetUnknownError } from '../delegation.errors.js';
import { addressOf, AgentConnector } from './agent.connector.js';
import {
  type DelegationTarget,
  type DelegationTargets,
  isOnPath,
  type ListedTarget,
  type WantedAgent,
} from './delegation.targets.js';

type Listable = Pick<AgentRecord, 'agentId' | 'name' | 'capabilities'>;

/** The agents of the registry, in the namespace of the run, that can receive work now, and that have an address or take tasks. */
@Injectable()
export class RegistryTargets implements DelegationTargets {
  constructor(
    private readonly ranker: Ranker,
    private readonly directory: Directory,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly connector: AgentConnector,
    private readonly names: NamedAgents,
  ) {}

  async list({ namespace }: RunContext, among?: ReadonlySet<string>): Promise<readonly ListedTarget[]> {
    await this.follower.refresh();
    if (among) return (await this.names.meant(this.routable(namespace, among))).map(toListed);
    const { candidates } = this.ranker.rank({ namespace, limit: MAX_LIMIT }, this.clock.now());
    return (await this.names.meant(candidates.flatMap((candidate) => this.recordOf(candidate) ?? []))).map(toListed);
  }

  async open(wanted: WantedAgent, run: RunContext): Promise<DelegationTarget | undefined> {
    await this.follower.refresh();
    return 'name' in wanted ? await this.byName(wanted.name, run) : await this.byCapabilities(wanted, run);
  }

  /** Whether the name of the record means this agent, and not a definition. */
  async isMeant(record: AgentRecord): Promise<boolean> {
    return (await this.names.meant([record])).length > 0;
  }

  /** Opens the agent of a record. Throws DELEGATION_TARGET_UNKNOWN if the record has no address. */
  connect(record: AgentRecord): DelegationTarget {
    const { agentId, costModel, typicalTokens } = record;
    const connection = this.connector.connect(record);
    if (!connection) throw new DelegationTargetUnknownError(`The agent ${agentId} has no endpoint. Use another agent.`);
    const { agent, isIdempotent, pull, release: close } = connection;
    const registered = { agentId, costModel, typicalTokens };
    return { name: agentId, agent, registered, isIdempotent, ...(pull && { pull }), close };
  }

  /** A name that means a definition is not a target here. */
  private async byName(agentId: string, { namespace }: RunContext): Promise<DelegationTarget | undefined> {
    const named = await this.names.find({ namespace, name: agentId });
    if (!named || named.definition) return undefined;
    const [exclusion] = named.exclusions;
    if (!exclusion) return this.connect(named.record);
    throw new DelegationTargetUnknownError(`${unavailableText(agentId, exclusion)} Use another agent.`);
  }

  private async byCapabilities(
    { capabilities, prefer, among }: Extract<WantedAgent, { capabilities: readonly string[] }>,
    run: RunContext,
  ): Promise<DelegationTarget> {
    const query = { namespace: run.namespace, capabilities, limit: MAX_LIMIT, ...(prefer !== undefined && { prefer }) };
    const { candidates, retryAfterMs } = this.ranker.rank(query, this.clock.now());
    const ranked = candidates.map((candidate) => this.recordOf(candidate)).filter((record) => record !== undefined);
    // a long ranking may have been cut before the first agent of `among`
    const others = among && candidates.length === MAX_LIMIT ? this.capable(run.namespace, among, capabilities) : [];
    const isAllowed = ({ agentId }: AgentRecord): boolean => !isOnPath(agentId, run) && (!among || among.has(agentId));
    const [record] = await this.names.meant([...ranked, ...others].filter(isAllowed));
    if (record) return this.connect(record);
    const later = retryAfterMs === null ? '' : ` An agent may be available in ${Math.ceil(retryAfterMs / 1_000)} s.`;
    throw new DelegationTargetUnknownError(
      `No other agent with the capabilities ${capabilities.join(', ')} can receive work now.${later} Use list_agents, or do the task yourself.`,
    );
  }

  /** Returns the agents in `among` that can receive work now and have an address. */
  private routable(namespace: string, among: ReadonlySet<string>): AgentRecord[] {
    const now = this.directory.advance(this.clock.now());
    return [...among].flatMap((agentId) => {
      const entry = this.directory.find(qualifiedId(namespace, agentId));
      return entry && addressOf(entry.record) && routability(entry, now).length === 0 ? [entry.record] : [];
    });
  }

  /** Returns the agents in `among` that can receive work now and claim all capabilities. */
  private capable(namespace: string, among: ReadonlySet<string>, wanted: readonly string[]): AgentRecord[] {
    const { aliases } = this.directory;
    const isCapable = ({ capabilities }: AgentRecord): boolean => {
      const keys = capabilityKeys(aliases.resolveAll(capabilities));
      return wanted.every((one) => keys.includes(aliases.resolve(one)));
    };
    return this.routable(namespace, among).filter(isCapable);
  }

  /** The record of a candidate that has an address. */
  private recordOf({ agent }: RankedCandidate): AgentRecord | undefined {
    const record = this.directory.find(qualifiedId(agent.namespace, agent.agentId))?.record;
    return record && addressOf(record) ? record : undefined;
  }
}

/** Agents choose their own names and capabilities, so the description is data. */
function toListed({ agentId, name, capabilities }: Listable): ListedTarget {
  return { name: agentId, description: `${name}; capabilities: ${capabilities.join(', ')}` };
}

/** Why the agent cannot receive work now, and when it can. */
export function unavailableText(agentId: string, { text, eligibleWhen }: Exclusion): string {
  return `The agent ${agentId} cannot receive work now: ${text}. It can receive work when ${eligibleWhen.text}.`;
}
