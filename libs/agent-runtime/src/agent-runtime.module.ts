import { type DynamicModule, Module } from '@nestjs/common';
import { GuardedAgents } from './calls/guarded.agents.js';
import { LedgerSpending } from './spending/ledger.spending.js';

/** Calls agents. It needs `RegistryModule` and `ProvidersModule`. */
@Module({})
export class AgentRuntimeModule {
  static forRoot(): DynamicModule {
    const providers = [GuardedAgents, LedgerSpending];
    return { module: AgentRuntimeModule, global: true, providers, exports: providers };
  }
}
