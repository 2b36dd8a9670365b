export { AgentRuntimeModule } from './agent-runtime.module.js';
export type { AgentRuntimeOptions } from './agent-runtime.options.js';
export { GuardedAgents } from './calls/guarded.agents.js';
export { RuntimeError, type RuntimeErrorCode } from './errors.js';
export type { Skill } from './skills/skill.js';
export { filesOf } from './skills/skill.files.js';
export { SkillLibrary } from './skills/skill.library.js';
export type { SkillDiagnostic } from './skills/skill.loader.js';
