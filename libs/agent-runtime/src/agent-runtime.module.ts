import { type DynamicModule, Module } from '@nestjs/common';
import { GuardedAgents } from './calls/guarded.agents.js';

/** Calls agents. It needs `RegistryModule` and `ProvidersModule`. */
@Module({})
export class AgentRuntimeModule {
  static forRoot(): DynamicModule {
    return { module: AgentRuntimeModule, global: true, providers: [GuardedAgents], exports: [GuardedAgents] };
  }
}
