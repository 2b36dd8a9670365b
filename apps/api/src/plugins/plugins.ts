import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type {
  AgentRuntimeOptions,
  CodeDefinition,
  InputCheck,
  NamedFactory,
  OutputCheck,
  RunMiddleware,
  ToolBox,
} from '#rollcall/agent-runtime';
import { toolBox } from '#rollcall/agent-runtime';
import type { ProvidersOptions } from '#rollcall/providers';
import { VendorRegistry } from '#rollcall/providers';
import {
  type BudgetSource,
  CONTRACT_NET,
  defaultStrategies,
  GuardedStrategy,
  type RegistryOptions,
  type ScoredStrategy,
  type ScoringRule,
  WEIGHTED_RULE,
} from '#rollcall/registry';
import type { PluginPart } from './plugin.js';
import {
  guardedBox,
  guardedCheck,
  guardedFactory,
  guardedMiddleware,
  guardedProvider,
  guardedRule,
  guardedSource,
  guardedTool,
  guardedVendor,
} from './guarded.parts.js';
import type { PluginLimits } from './plugin.guard.js';
import { type LoadedPlugin, PluginError } from './plugin.reader.js';

/** The names that Rollcall itself uses, by part. */
const OWN_NAMES: Partial<Record<PluginPart, readonly string[]>> = {
  agentProviders: ['native', 'a2a', 'http', 'subprocess', 'claude-sdk'],
  modelVendors: VendorRegistry.withAll()
    .list()
    .map(({ name }) => name),
  strategies: [...defaultStrategies().map(({ name }) => name), CONTRACT_NET],
  scoringRules: [WEIGHTED_RULE.name],
  budgetSources: ['langfuse'],
};
/** Parts whose elements have names that are unique in the installation. The names of tools are checked when all toolboxes exist. */
const UNIQUE: readonly PluginPart[] = [
  'agentProviders',
  'modelVendors',
  'strategies',
  'scoringRules',
  'budgetSources',
  'factories',
  'definitions',
  'toolBoxes',
];

/** The plugins of this process. Their parts become options of the libraries; `PluginGuard` surrounds each call of their code. */
@Injectable()
export class Plugins {
  private constructor(
    readonly all: readonly LoadedPlugin[],
    readonly limits: PluginLimits,
  ) {}

  /** Throws PluginError if two plugins, or a plugin and Rollcall, use the same name. */
  static of(all: readonly LoadedPlugin[], limits: PluginLimits): Plugins {
    checkNames(all);
    return new Plugins(all, limits);
  }

  get runtime(): PluginRuntimeOptions {
    return {
      boxes: this.flatMap(({ name, parts: { tools, toolBoxes }, guard }) => {
        const own =
          tools.length > 0
            ? [
                toolBox(
                  name,
                  tools.map((tool) => guardedTool(tool, guard)),
                ),
              ]
            : [];
        return [...own, ...toolBoxes.map((box) => guardedBox(box, guard))];
      }),
      skillFolders: this.flatMap(({ parts: { skills } }) =>
        skills.map((folder) => (folder instanceof URL ? fileURLToPath(folder) : folder)),
      ),
      definitions: this.flatMap(({ name, parts: { definitions } }) =>
        definitions.map((one) => ({ ...one, plugins: [...new Set([...(one.plugins ?? []), name])] })),
      ),
      factories: this.flatMap(({ parts: { factories }, guard }) => factories.map((one) => guardedFactory(one, guard))),
      middleware: this.flatMap(({ parts: { middleware }, guard }) =>
        middleware.map((one) => guardedMiddleware(one, guard)),
      ),
      inputChecks: this.flatMap(({ parts: { inputGuardrails }, guard }) =>
        inputGuardrails.map((check): InputCheck => guardedCheck(check, guard)),
      ),
      outputChecks: this.flatMap(({ parts: { outputGuardrails }, guard }) =>
        outputGuardrails.map((check): OutputCheck => guardedCheck(check, guard)),
      ),
    };
  }

  get providers(): Pick<ProvidersOptions, 'vendors' | 'agentProviders'> {
    return {
      vendors: this.flatMap(({ parts: { modelVendors }, guard }) =>
        modelVendors.map((one) => guardedVendor(one, guard)),
      ),
      agentProviders: this.flatMap(({ parts: { agentProviders }, guard }) =>
        agentProviders.map((one) => guardedProvider(one, guard)),
      ),
    };
  }

  get registry(): PluginRegistryOptions {
    return {
      strategies: this.flatMap(({ parts: { strategies }, guard }) =>
        strategies.map((one: ScoredStrategy) => new GuardedStrategy(one, (error) => guard.report('strategy', error))),
      ),
      scoring: this.flatMap(({ parts: { scoringRules }, guard }) => scoringRules.map((one) => guardedRule(one, guard))),
      sources: this.flatMap(({ parts: { budgetSources }, guard }) =>
        budgetSources.map((one) => guardedSource(one, guard)),
      ),
    };
  }

  /** Which plugin has added a name that definitions use. */
  get ownerships(): NonNullable<AgentRuntimeOptions['plugins']> {
    return this.all.map(({ name, parts: { tools, toolBoxes, agentProviders, modelVendors } }) => ({
      plugin: name,
      toolBoxes: [...(tools.length > 0 ? [name] : []), ...toolBoxes.map((box) => box.name)],
      agentProviders: agentProviders.map((provider) => provider.name),
      modelVendors: modelVendors.map((vendor) => vendor.name),
    }));
  }

  private flatMap<Value>(partsOf: (plugin: LoadedPlugin) => readonly Value[]): Value[] {
    return this.all.flatMap(partsOf);
  }
}

interface PluginRuntimeOptions {
  readonly boxes: readonly ToolBox[];
  readonly skillFolders: readonly string[];
  readonly definitions: readonly CodeDefinition[];
  readonly factories: readonly NamedFactory[];
  readonly middleware: readonly RunMiddleware[];
  readonly inputChecks: readonly InputCheck[];
  readonly outputChecks: readonly OutputCheck[];
}

interface PluginRegistryOptions {
  readonly strategies: NonNullable<RegistryOptions['strategies']>;
  readonly scoring: readonly ScoringRule[];
  readonly sources: readonly BudgetSource[];
}

/** Adds the parts of plugins to the options of the runtime. */
export function withPlugins(options: AgentRuntimeOptions, { runtime, ownerships }: Plugins): AgentRuntimeOptions {
  const { boxes, skillFolders, definitions, factories, middleware, inputChecks, outputChecks } = runtime;
  return {
    ...options,
    tools: { ...options.tools, boxes: [...(options.tools.boxes ?? []), ...boxes] },
    skills: { ...options.skills, folders: [...options.skills.folders, ...skillFolders] },
    definitions: [...(options.definitions ?? []), ...definitions],
    delegation: { ...options.delegation, factories },
    plugins: ownerships,
    execution: { ...options.execution, middleware, inputChecks, outputChecks },
  };
}

function checkNames(all: readonly LoadedPlugin[]): void {
  const plugins = new Map<string, LoadedPlugin>();
  for (const plugin of all) {
    const other = plugins.get(plugin.name);
    if (other)
      throw new PluginError(
        plugin.name,
        `name: ${other.from} and ${plugin.from} are both named ${plugin.name}. Remove or rename one of them.`,
      );
    plugins.set(plugin.name, plugin);
  }
  for (const part of UNIQUE) checkPart(all, part);
}

function checkPart(all: readonly LoadedPlugin[], part: PluginPart): void {
  const owners = new Map((OWN_NAMES[part] ?? []).map((name) => [name, 'Rollcall']));
  for (const plugin of all) {
    const names = (plugin.parts[part] as readonly { name: string; namespace?: string }[]).map(({ name, namespace }) =>
      namespace === undefined ? name : `${namespace}/${name}`,
    );
    const own = part === 'toolBoxes' && plugin.parts.tools.length > 0 ? [plugin.name] : [];
    for (const name of [...own, ...names]) {
      const owner = owners.get(name);
      if (owner !== undefined)
        throw new PluginError(
          plugin.name,
          `${part}: the name ${name} is already used by ${ownerText(owner)}. Rename one of them.`,
        );
      owners.set(name, plugin.name);
    }
  }
}

function ownerText(owner: string): string {
  return owner === 'Rollcall' ? 'Rollcall itself' : `the plugin ${owner}`;
}
