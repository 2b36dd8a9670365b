import { Injectable } from '@nestjs/common';
import { capabilityKeys, Directory } from '#rollcall/registry';
import { AgentBuilder } from '../../definitions/agent.builder.js';
import type { Definition } from '../../definitions/definition.js';
import { DefinitionsService } from '../../definitions/definitions.service.js';
import { NamedAgents } from '../../definitions/named.agents.js';
import type { RunContext } from '../../loop/run.context.js';
import { DelegationTargetUnknownError } from '../delegation.errors.js';
import {
  type DelegatingParent,
  type DelegationTarget,
  type DelegationTargets,
  isOnPath,
  type ListedTarget,
  type WantedAgent,
} from './delegation.targets.js';
import { unavailableText } from './registry.targets.js';

type WantedCapabilities = Exclude<WantedAgent, { name: string }>;

/**
 * The definitions in the namespace of the run. Each call gets a new agent, which is shut down after the call. If several definitions
 * have the wanted capabilities, the first by name is used.
 */
@Injectable()
export class DefinitionTargets implements DelegationTargets {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly builder: AgentBuilder,
    private readonly directory: Directory,
    private readonly names: NamedAgents,
  ) {}

  async list({ namespace }: RunContext, among?: ReadonlySet<string>): Promise<readonly ListedTarget[]> {
    return await this.definitions.workingSummaries(namespace, among && [...among]);
  }

  async open(
    wanted: WantedAgent,
    context: RunContext,
    { model }: DelegatingParent = {},
  ): Promise<DelegationTarget | undefined> {
    const { namespace } = context;
    const found = 'name' in wanted ? wanted.name : await this.nameOf(wanted, context);
    const named = found === undefined ? undefined : await this.names.find({ namespace, name: found });
    if (!named?.definition) return undefined;
    const { definition, exclusions } = named;
    const revision = 'name' in wanted ? wanted.revision : undefined;
    const exclusion = exclusions.find(({ code }) => revision === undefined || code !== 'draining'); // a draining agent finishes its work
    if (exclusion)
      throw new DelegationTargetUnknownError(`${unavailableText(definition.name, exclusion)} Use another agent.`);
    const isOther = revision !== undefined && revision !== definition.revision;
    return await this.build(isOther ? await this.definitions.revision(definition, revision) : definition, model);
  }

  private async build(
    { namespace, name, revision, content }: Definition,
    model: DelegatingParent['model'],
  ): Promise<DelegationTarget> {
    const agent = await this.builder.build(name, content, { namespace, ...(model && { parentModel: model }) });
    return { name, agent, definition: { name, revision }, close: async () => await agent.shutdown() };
  }

  /** Claimed and wanted capabilities are compared as in a query of the live registry. */
  private async nameOf({ capabilities, among }: WantedCapabilities, run: RunContext): Promise<string | undefined> {
    const { aliases } = this.directory;
    const wanted = capabilities.map((one) => aliases.resolve(one));
    const defined = await this.definitions.capabilitiesByName(run.namespace);
    const found = defined.find(({ name, capabilities: claimed }) => {
      if (isOnPath(name, run) || (among && !among.has(name))) return false;
      const keys = new Set(capabilityKeys(aliases.resolveAll(claimed)));
      return wanted.every((one) => keys.has(one));
    });
    return found?.name;
  }
}
