import type { DelegationOptions } from './delegation/delegation.js';
import type { DeploymentOptions } from './deployment/deployment.options.js';
import type { LifecycleOptions } from './lifecycle/lifecycle.options.js';
import type { ExecutionOptions } from './middleware/default.middleware.js';
import type { RunsOptions } from './runs/runs.options.js';
import type { SkillLibraryOptions } from './skills/skill.library.js';
import { DEFAULT_TOOLS_OPTIONS, type ToolsOptions } from './tools/tools.options.js';

export interface AgentRuntimeOptions extends DeploymentOptions {
  readonly tools: ToolsOptions;
  readonly skills: SkillLibraryOptions;
  readonly delegation?: DelegationOptions;
  readonly execution?: ExecutionOptions;
  readonly lifecycle?: Partial<LifecycleOptions>;
  readonly runs?: RunsOptions;
}

export const DEFAULT_RUNTIME_OPTIONS: AgentRuntimeOptions = { tools: DEFAULT_TOOLS_OPTIONS, skills: { folders: [] } };
