import type { SkillLibraryOptions } from './skills/skill.library.js';
import { DEFAULT_TOOLS_OPTIONS, type ToolsOptions } from './tools/tools.options.js';

export interface AgentRuntimeOptions {
  readonly skills: SkillLibraryOptions;
  readonly tools: ToolsOptions;
}

export const DEFAULT_RUNTIME_OPTIONS: AgentRuntimeOptions = { skills: { folders: [] }, tools: DEFAULT_TOOLS_OPTIONS };
