import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { DEFAULT_NAMESPACE } from '#rollcall/platform';
import {
  type AgentConfig,
  type AgentProvider,
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
import { INHERITANCE_MODES } from '../delegation/delegation.services.js';
import { InstalledMiddleware } from '../middleware/default.middleware.js';
import type { AgentSkill } from '../skills/skill.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { AgentTools } from './agent.tools.js';
import { ReactAgent } from './react.agent.js';

const Names = z.array(z.string().min(1).max(200)).max(500);

const SettingsSchema = z.strictObject({
  description: z.string().max(8_192).default('').describe('What the agent is for.'),
  instructions: z.string().max(100_000).default('').describe('The system prompt.'),
  model: z
    .union([z.string(), InlineChoiceSchema])
    .nullish()
    .describe('A preset, an alias, or an inline choice of a model. If absent, the default preset is used.'),
  tools: z
    .strictObject({ allow: Names.optional(), deny: Names.optional() })
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
    private readonly tools: AgentTools,
    private readonly skills: SkillLibrary,
    private readonly middleware: InstalledMiddleware,
  ) {}

  describe(): ProviderDescription {
    const about = 'Agents that Rollcall runs itself: a model with instructions, tools and skills';
    return { about, settings: settingsView(SettingsSchema) };
  }

  async createAgent(config: AgentConfig): Promise<ReactAgent> {
    const settings = readSettings(SettingsSchema, config, this.name);
    const { description, instructions, limit, tools: toolFilter, skills, model: wanted, ...options } = settings;
    const { delegation } = this.tools;
    const { maxDelegationDepth = delegation?.limits.maxDelegationDepth } = options;
    const model = this.modelOf(wanted, config);
    const { run, model: modelMiddleware } = this.middleware.create(limit);
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
        toolFilter: this.tools.checked(toolFilter, options.namespace ?? DEFAULT_NAMESPACE),
      },
      runMiddleware: run,
      modelMiddleware,
      executor: this.tools.executor,
      ...(delegation && { delegation: delegation.services }),
    });
    agent.addToolBoxes(...this.tools.boxes);
    if (delegation) agent.setRegistry(delegation.factories);
    return await Promise.resolve(agent);
  }

  private modelOf(wanted: WantedModel, { parentModel }: AgentConfig): ModelProvider {
    if (wanted === INHERIT && parentModel) return parentModel;
    return this.models.open(resolveModel(wanted, this.presets).choice);
  }

  private skillOf({ name, mode }: { name: string; mode: AgentSkill['mode'] }): AgentSkill {
    return { skill: this.skills.get(name), mode };
  }
}
