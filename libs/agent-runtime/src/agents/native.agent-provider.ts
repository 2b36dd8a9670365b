import { Inject, Injectable, type OnModuleInit, Optional } from '@nestjs/common';
import { z } from 'zod';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import {
  type AgentConfig,
  type AgentProvider,
  AgentProviderRegistry,
  INHERIT,
  InlineChoiceSchema,
  ModelCatalog,
  type ModelProvider,
  PresetCatalog,
  type ProviderDescription,
  readSettings,
  resolveModel,
  settingsView,
  type WantedModel,
} from '#rollcall/providers';
import { NATIVE } from '../definitions/definition.js';
import { Delegation } from '../delegation/delegation.js';
import { INHERITANCE_MODES } from '../delegation/delegation.services.js';
import { InstalledMiddleware } from '../middleware/default.middleware.js';
import type { AgentSkill } from '../skills/skill.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { ToolCatalog } from '../tools/tool.catalog.js';
import { ToolExecutor } from '../tools/tool.executor.js';
import type { ToolFilter } from '../tools/tool.filter.js';
import { ReactAgent } from './react.agent.js';
import { RUNTIME_TOOLS } from './react.options.js';

const Names = z.array(z.string().min(1).max(200)).max(500);

const SettingsSchema = z.strictObject({
  description: z.string().max(8_192).default('').describe('What the agent is for.'),
  instructions: z.string().max(100_000).default('').describe('The system prompt.'),
  model: z
    .union([z.string(), InlineChoiceSchema])
    .nullish()
    .describe('A preset, an alias, or an inline choice of a model. If absent, the default preset is used.'),
  tools: z
    .strictObject({
      allow: Names.optional(),
      deny: Names.optional(),
      approve: z.record(z.string(), z.enum(['operator', 'caller'])).optional(),
    })
    .optional()
    .describe('The tools that the agent may use. If absent, it may use all tools.'),
  skills: z
    .array(z.strictObject({ name: z.string(), mode: z.enum(['preload', 'catalog']).default('catalog') }))
    .default([]),
  maxIterations: z.int().min(1).max(1_000).default(20).describe('How many model replies a run may use.'),
  maxDelegationDepth: z.int().min(0).max(32).optional().describe('How many levels of delegation are allowed.'),
  inheritTools: z
    .enum(INHERITANCE_MODES)
    .optional()
    .describe('How the tools of the delegating agent are combined with the tools of this agent.'),
  subagents: Names.optional().describe('The agents that the agent may delegate to. If absent, it may delegate to all.'),
  namespace: z.string().min(1).max(100).optional().describe('The namespace of runs whose caller specifies none.'),
  mayAsk: z.boolean().default(false).describe('Whether the agent may ask its caller a question.'),
  outputSchema: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('The JSON Schema of the answer. If present, the answer is JSON.'),
  limit: z
    .strictObject({
      tokens: z.int().positive().nullable().default(null),
      microUsd: z.int().positive().nullable().default(null),
    })
    .optional()
    .describe('The tokens and the money that one run and its descendants may use.'),
});

/** Creates agents that Rollcall runs itself, with the models, tools and skills of this installation. */
@Injectable()
export class NativeAgentProvider implements AgentProvider {
  readonly name = NATIVE;
  readonly agentType = 'in-process';

  constructor(
    private readonly presets: PresetCatalog,
    private readonly models: ModelCatalog,
    @Inject(ToolCatalog) private readonly catalog: Pick<ToolCatalog, 'toolboxes' | 'checkFilter' | 'resolved'>,
    private readonly executor: ToolExecutor,
    private readonly skills: SkillLibrary,
    private readonly middleware: InstalledMiddleware,
    @Optional() private readonly delegation?: Delegation,
  ) {}

  describe(): ProviderDescription {
    const about = 'Agents that Rollcall runs itself: a model with instructions, tools and skills';
    return { about, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<ReactAgent> {
    const settings = readSettings(SettingsSchema, config, this.name);
    const { description, instructions, limit, tools: toolFilter, skills, model: wanted, ...options } = settings;
    const { delegation, executor } = this;
    const { maxDelegationDepth = delegation?.limits.maxDelegationDepth } = options;
    const namespace = options.namespace ?? DEFAULT_NAMESPACE;
    const model = this.modelOf(wanted, namespace, config);
    const { run, model: modelMiddleware } = this.middleware.create(limit, model);
    const agent = new ReactAgent({
      name: config.name,
      description,
      instructions,
      model,
      options: {
        ...options,
        ...delegation?.limits,
        maxDelegationDepth,
        skills: skills.map((one) => this.skillOf(one)),
        toolFilter: this.checked(toolFilter, namespace),
      },
      runMiddleware: run,
      modelMiddleware,
      executor,
      ...(delegation && { delegation: delegation.services }),
    });
    agent.addToolBoxes(...this.catalog.toolboxes);
    if (delegation) agent.setRegistry(delegation.factories);
    return await Promise.resolve(agent);
  }

  /** Throws TOOL_UNKNOWN if the filter names tools that do not exist in the namespace (S4.4). */
  private checked(wanted: ToolFilter | undefined, namespace: string): ToolFilter | undefined {
    if (!wanted) return undefined;
    const filter = this.catalog.resolved(wanted, namespace);
    const { allow, deny, approve } = filter;
    const named = Object.entries(approve ?? {}).filter(([name]) => !RUNTIME_TOOLS.has(name));
    const checked = { allow: inCatalog(allow), deny: inCatalog(deny), approve: Object.fromEntries(named) };
    this.catalog.checkFilter(checked, namespace);
    return filter;
  }

  private modelOf(wanted: WantedModel, namespace: string, { parentModel }: AgentConfig): ModelProvider {
    if (wanted === INHERIT && parentModel) return parentModel;
    return this.models.open(resolveModel(wanted, this.presets.in(namespace)).choice);
  }

  private skillOf({ name, mode }: { name: string; mode: AgentSkill['mode'] }): AgentSkill {
    return { skill: this.skills.get(name), mode };
  }
}

/** The catalog does not contain the tools that the runtime adds to an agent. */
function inCatalog(names: readonly string[] | undefined): readonly string[] | undefined {
  return names?.filter((name) => !RUNTIME_TOOLS.has(name));
}

/** Adds the provider `native` to the agent providers, which `ProvidersModule` creates without the runtime. */
@Injectable()
export class NativeRegistration implements OnModuleInit {
  constructor(
    private readonly registry: AgentProviderRegistry,
    private readonly provider: NativeAgentProvider,
  ) {}

  onModuleInit(): void {
    this.registry.register(this.provider);
  }
}
