import { Injectable } from '@nestjs/common';
import { capabilityKeys, Directory } from '#rollcall/registry';
import { AgentBuilder } from '../../definitions/agent.builder.js';
import type { Definition } from '../../definitions/definition.js';
import { DefinitionsService } from '../../definitions/definitions.service.js';
import type { RunContext } from '../../loop/run.context.js';
import {
  type DelegatingParent,
  type DelegationTarget,
  type DelegationTargets,
  isOnPath,
  type ListedTarget,
  type WantedAgent,
} from './delegation.targets.js';

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
  ) {}

  async list({ namespace }: RunContext, among?: ReadonlySet<string>): Promise<readonly ListedTarget[]> {
    return await this.definitions.summaries(namespace, among && [...among]);
  }

  async open(
    wanted: WantedAgent,
    context: RunContext,
    { model }: DelegatingParent = {},
  ): Promise<DelegationTarget | undefined> {
    const { namespace } = context;
    const found = 'name' in wanted ? wanted.name : await this.nameOf(wanted, context);
    const definition = found === undefined ? undefined : await this.definitions.find({ namespace, name: found });
    if (!definition) return undefined;
    const revision = 'name' in wanted ? wanted.revision : undefined;
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
