import type { DelegationOptions } from './delegation/delegation.js';
import type { SkillLibraryOptions } from './skills/skill.library.js';
import type { ToolsOptions } from './tools/tools.options.js';

export interface AgentRuntimeOptions {
  readonly skills: SkillLibraryOptions;
  readonly tools?: ToolsOptions;
  readonly delegation?: DelegationOptions;
}
