import { Injectable } from '@nestjs/common';
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
  type ListedTarget,
  type WantedAgent,
} from './delegation.targets.js';
import { unavailableText } from './registry.targets.js';

/**
 * The definitions in the namespace of the run, by name. Each call gets a new agent, which is shut down after the call. `CapabilityTargets` finds
 * definitions by their capabilities.
 */
@Injectable()
export class DefinitionTargets implements DelegationTargets {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly builder: AgentBuilder,
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
    if (!('name' in wanted)) return undefined;
    const named = await this.names.find({ namespace, name: wanted.name });
    if (!named?.definition) return undefined;
    const { definition, exclusions } = named;
    const { revision } = wanted;
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
}
