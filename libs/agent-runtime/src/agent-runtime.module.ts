import { type DynamicModule, Module } from '@nestjs/common';
import type { AgentRuntimeOptions } from './agent-runtime.options.js';
import { GuardedAgents } from './calls/guarded.agents.js';
import { SkillLibrary } from './skills/skill.library.js';
import { LedgerSpending } from './spending/ledger.spending.js';

/** Calls agents and runs them. It needs `RegistryModule` and `ProvidersModule`. */
@Module({})
export class AgentRuntimeModule {
  static forRoot(options: AgentRuntimeOptions): DynamicModule {
    const skills = { provide: SkillLibrary, useFactory: () => new SkillLibrary(options.skills) };
    const providers = [GuardedAgents, LedgerSpending, skills];
    return {
      module: AgentRuntimeModule,
      global: true,
      providers,
      exports: [GuardedAgents, LedgerSpending, SkillLibrary],
    };
  }
}
