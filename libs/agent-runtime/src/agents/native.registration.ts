import { Injectable, type OnModuleInit } from '@nestjs/common';
import { AgentProviderRegistry } from '#rollcall/providers';
import { NativeAgentProvider } from './native.agent-provider.js';

/** Adds the provider `native` to the agent providers, which `ProvidersModule` creates without the runtime. */
@Injectable()
export class NativeRegistration implements OnModuleInit {
  constructor(
    private readonly registry: AgentProviderRegistry,
    private readonly provider: NativeAgentProvider,
  ) {}

  onModuleInit(): void {
    this.registry.register(this.provider);
  }
}
