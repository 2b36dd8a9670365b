import type { SkillLibraryOptions } from './skills/skill.library.js';

export interface AgentRuntimeOptions {
  skills: SkillLibraryOptions;
}
