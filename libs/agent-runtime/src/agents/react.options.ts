import { type ModelProvider, type ModelSettings, ProviderError } from '#rollcall/providers';
import { DEFAULT_TREE_LIMITS } from '../delegation/delegation.limits.js';
import type { DelegationServices, InheritanceMode } from '../delegation/delegation.services.js';
import { DELEGATION_TOOLS } from '../delegation/delegation.tools.js';
import type { JsonSchema } from '../loop/output.format.js';
import type { TreeLimits } from '../loop/run.context.js';
import type { ModelMiddleware, RunMiddleware } from '../middleware/middleware.js';
import type { AgentSkill } from '../skills/skill.js';
import type { StandardSchema } from '../tools/input/standard-schema.input.js';
import type { ToolExecutor } from '../tools/tool.executor.js';
import type { ToolFilter } from '../tools/tool.filter.js';

/** Tools that the runtime adds to an agent. The tool catalog does not contain them. */
export const RUNTIME_TOOLS: ReadonlySet<string> = new Set(['ask_caller', 'activate_skill', ...DELEGATION_TOOLS]);

export const DEFAULT_MAX_ITERATIONS = 20;

export interface ReactAgentOptions {
  readonly name: string;
  readonly description: string;
  readonly instructions: string;
  readonly model: ModelProvider;
  readonly options?: ReactOptions;
  /** From the outermost to the innermost. */
  readonly runMiddleware?: readonly RunMiddleware[];
  /** From the outermost to the innermost. */
  readonly modelMiddleware?: readonly ModelMiddleware[];
  readonly executor?: ToolExecutor;
  /** The services that the delegation tools use. The agent has these tools only if `setRegistry` gave it agents to delegate to. */
  readonly delegation?: DelegationServices;
}

export interface ReactOptions {
  /** How many model replies a run may use. The default is 20. */
  readonly maxIterations?: number;
  /** How many levels of delegation are allowed below a run of this agent that has no parent. The default is 3. */
  readonly maxDelegationDepth?: number;
  /** How many delegated runs one run may have in progress. The default is 8. */
  readonly maxDelegationWidth?: number;
  /** How many delegated runs a tree may start in total. The default is 50. */
  readonly maxDelegatedRuns?: number;
  readonly skills?: readonly AgentSkill[];
  readonly toolFilter?: ToolFilter;
  /**
   * How the tools of a parent are combined with the tools of this agent (S2.6). If the mode of the parent is stricter, it applies. `union` adds the
   * tools of the parent to those that `toolFilter` allows. Absent: `union`, but a `toolFilter` with `allow` also decides which tools are inherited.
   */
  readonly inheritTools?: InheritanceMode;
  /** The only agents that the agent may delegate to. Absent: all. */
  readonly subagents?: readonly string[];
  /** If present, the final answer must be JSON of this format, and the result contains it as a data part. */
  readonly outputSchema?: StandardSchema | JsonSchema;
  /** The context window in tokens. The default is the context window in the preset of the model. */
  readonly contextWindow?: number;
  readonly settings?: ModelSettings;
  /** Whether the model may ask its caller a question. The default is false. */
  readonly mayAsk?: boolean;
  /** The media types of files that the model can read. */
  readonly inputMedia?: readonly string[];
  /** The namespace of a run if the caller does not specify one. */
  readonly namespace?: string;
  readonly now?: () => number;
}

export interface CheckedOptions extends Omit<
  ReactOptions,
  'maxDelegationDepth' | 'maxDelegationWidth' | 'maxDelegatedRuns'
> {
  readonly maxIterations: number;
  readonly mayAsk: boolean;
  readonly skills: readonly AgentSkill[];
  readonly namespace: string;
  readonly treeLimits: TreeLimits;
  readonly now: () => number;
}

/** Adds the defaults. Throws an error for the first invalid option. */
export function checkedOptions({ name, options = {} }: ReactAgentOptions): CheckedOptions {
  const { maxDelegationDepth = DEFAULT_TREE_LIMITS.maxDepth, ...others } = options;
  const {
    maxDelegationWidth = DEFAULT_TREE_LIMITS.maxWidth,
    maxDelegatedRuns = DEFAULT_TREE_LIMITS.maxRuns,
    ...rest
  } = others;
  const {
    maxIterations = DEFAULT_MAX_ITERATIONS,
    mayAsk = false,
    skills = [],
    namespace = 'default',
    now = Date.now,
  } = rest;
  check(name, 'maxIterations', maxIterations, 1);
  check(name, 'maxDelegationDepth', maxDelegationDepth, 0);
  check(name, 'maxDelegationWidth', maxDelegationWidth, 1);
  check(name, 'maxDelegatedRuns', maxDelegatedRuns, 0);
  if (rest.contextWindow !== undefined) check(name, 'contextWindow', rest.contextWindow, 1);
  const treeLimits = { maxDepth: maxDelegationDepth, maxWidth: maxDelegationWidth, maxRuns: maxDelegatedRuns };
  return { ...rest, maxIterations, mayAsk, skills, namespace, now, treeLimits };
}

function check(agent: string, option: string, value: number, least: number): void {
  if (Number.isSafeInteger(value) && value >= least) return;
  const message = `The option ${option} of agent ${agent} is ${value}, but it must be a whole number of at least ${least}.`;
  throw new ProviderError('AGENT_SETTINGS_INVALID', message);
}
