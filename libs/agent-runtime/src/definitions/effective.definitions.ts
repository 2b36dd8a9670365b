import { Inject, Injectable } from '@nestjs/common';
import { localIdOf, qualifiedId } from '#rollcall/platform';
import { PresetCatalog, type ResolvedModel, resolveModel } from '#rollcall/providers';
import { available, type BudgetReading, BudgetsService, type Limit } from '#rollcall/registry';
import { DEFAULT_MAX_ITERATIONS } from '../agents/react.options.js';
import { DEFAULT_TREE_LIMITS } from '../delegation/delegation.limits.js';
import { DELEGATION_OPTIONS, type DelegationOptions } from '../delegation/delegation.js';
import { DELEGATION_TOOLS } from '../delegation/delegation.tools.js';
import { ASK_TOOLBOX } from '../loop/caller.question.js';
import { estimateText } from '../loop/token.estimate.js';
import { InstalledMiddleware } from '../middleware/default.middleware.js';
import type { AgentSkill, SkillMode } from '../skills/skill.js';
import { SkillLibrary } from '../skills/skill.library.js';
import { skillToolBox } from '../skills/skill.toolbox.js';
import { rootContext, ToolCatalog } from '../tools/tool.catalog.js';
import { isAllowed } from '../tools/tool.filter.js';
import { ToolSet } from '../tools/tool.set.js';
import { toolFilterOf } from './agent.builder.js';
import { type DefinitionContent, type DefinitionKey, NATIVE } from './definition.js';

interface EffectiveTool {
  name: string;
  origin: string;
  aliases?: string[];
}

interface EffectiveBudget {
  kind: 'run' | 'agent' | 'namespace';
  /** The agent or the namespace; null for the budget that each run gets. */
  subject: string | null;
  window: string;
  limit: Limit;
  /** What can still be reserved. */
  remaining: Limit;
}

/** What an agent of a definition would use now. */
export interface EffectiveDefinition {
  provider: string;
  /** Absent if the provider chooses the model itself. */
  model?: ResolvedModel;
  /** The tools of a run without a parent, with their toolboxes. `aliases` are the other names by which the definition allows the tool. */
  tools: EffectiveTool[];
  /** `tokens` is the estimated part of the system prompt; null if the skill does not exist any more. */
  skills: { name: string; mode: SkillMode; tokens: number | null }[];
  limits: {
    maxIterations: number;
    maxDelegationDepth: number;
    /** Null: no limit. */
    maxConcurrency: number | null;
    whenBusy: 'queue' | 'reject';
  };
  /** The middleware around each run, from the outermost to the innermost. Names of plugins begin with the plugin. */
  middleware: string[];
  /** The plugins that a replica needs to execute the runs. */
  plugins: string[];
  /** Each call makes a reservation on all these budgets. The budget of the fleet is not listed. */
  budgets: EffectiveBudget[];
}

/** Explains what a definition means in this deployment, without building an agent. */
@Injectable()
export class EffectiveDefinitions {
  constructor(
    private readonly presets: PresetCatalog,
    private readonly tools: ToolCatalog,
    private readonly skills: SkillLibrary,
    private readonly budgets: BudgetsService,
    private readonly middleware: InstalledMiddleware,
    @Inject(DELEGATION_OPTIONS) private readonly delegation: DelegationOptions,
  ) {}

  async of(key: DefinitionKey, content: DefinitionContent): Promise<EffectiveDefinition> {
    const { provider, maxIterations = DEFAULT_MAX_ITERATIONS, whenBusy = 'queue', maxConcurrency = null } = content;
    const { maxDelegationDepth: byDefault = DEFAULT_TREE_LIMITS.maxDepth } = this.delegation;
    const { maxDelegationDepth = byDefault } = content;
    const isNative = provider === NATIVE;
    return {
      provider,
      ...(isNative && { model: resolveModel(content.model, this.presets.in(key.namespace)) }),
      tools: isNative ? this.toolsOf(key.namespace, { ...content, maxDelegationDepth }) : [],
      skills: isNative ? this.skillsOf(content) : [],
      limits: { maxIterations, maxDelegationDepth, maxConcurrency, whenBusy },
      middleware: isNative ? this.middleware.create(undefined).run.map(({ name }) => name) : [],
      plugins: [...(content.plugins ?? [])],
      budgets: await this.budgetsOf(key, content),
    };
  }

  private toolsOf(namespace: string, content: DefinitionContent): EffectiveDefinition['tools'] {
    const { skills = [], mayAsk } = content;
    const found = skills.flatMap(({ name, mode }): AgentSkill[] => {
      const skill = this.skills.find(name);
      return skill ? [{ skill, mode }] : [];
    });
    const ask = mayAsk ? ASK_TOOLBOX : undefined;
    const boxes = [ask, ...this.tools.toolboxes, skillToolBox(found)].filter((box) => box !== undefined);
    const filter = this.tools.resolved(toolFilterOf(content), namespace);
    const set = ToolSet.of(boxes, rootContext(namespace), filter);
    const own = set.names.map((name) => ({ name, origin: set.find(name)?.origin ?? '' }));
    const delegation = delegationTools(content).filter((name) => isAllowed(name, filter) && !set.find(name));
    const all = [...own, ...delegation.map((name) => ({ name, origin: 'delegation' }))];
    const written = (content.tools ?? []).map((entry, index) => ({ entry, tool: filter.allow?.[index] }));
    const aliasesOf = (name: string): string[] =>
      written.filter(({ entry, tool }) => tool === name && entry !== name).map(({ entry }) => entry);
    return all.map((tool): EffectiveTool => {
      const aliases = aliasesOf(tool.name);
      return aliases.length > 0 ? Object.assign(tool, { aliases }) : tool;
    });
  }

  private skillsOf({ skills = [] }: DefinitionContent): EffectiveDefinition['skills'] {
    return skills.map(({ name, mode }) => {
      const skill = this.skills.find(name);
      if (!skill) return { name, mode, tokens: null };
      const tokens = mode === 'preload' ? skill.tokens : estimateText(`- ${name}: ${skill.description}`);
      return { name, mode, tokens };
    });
  }

  private async budgetsOf(key: DefinitionKey, { budget }: DefinitionContent): Promise<EffectiveBudget[]> {
    const { namespace, name } = key;
    const own = await this.budgets.of('agent', qualifiedId(namespace, name));
    const shared = await this.budgets.of('namespace', namespace);
    const run: EffectiveBudget[] = budget
      ? [{ kind: 'run', subject: null, window: 'total', limit: budget, remaining: budget }]
      : [];
    return [...run, ...own.map(toAgentBudget), ...shared.map(toNamespaceBudget)];
  }
}

/** An agent that has no permitted subagents, or that may not delegate at all, does not get these tools. */
function delegationTools({ maxDelegationDepth, subagents }: DefinitionContent): string[] {
  return maxDelegationDepth === 0 || subagents?.length === 0 ? [] : [...DELEGATION_TOOLS];
}

function toAgentBudget({ budget }: BudgetReading): EffectiveBudget {
  const { subject, window, limit } = budget;
  return { kind: 'agent', subject: localIdOf(subject), window, limit, remaining: available(budget) };
}

function toNamespaceBudget({ budget }: BudgetReading): EffectiveBudget {
  const { subject, window, limit } = budget;
  return { kind: 'namespace', subject, window, limit, remaining: available(budget) };
}
