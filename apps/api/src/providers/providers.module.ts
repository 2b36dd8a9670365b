import { Inject, Module, type OnApplicationShutdown } from '@nestjs/common';
import {
  AgentProviderRegistry,
  EgressClient,
  EgressPolicy,
  ModelCatalog,
  PATIENT_LIMITS,
  type SecretSource,
  VendorRegistry,
} from '#rollcall/providers';
import { AgentsModule } from '../agents/agents.module.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ModelsModule } from '../models/models.module.js';
import { agentProviders } from './agent-providers.js';
import { Keyring } from './keyring.js';
import { ProvidersController } from './providers.controller.js';
import { SECRETS } from './providers.tokens.js';

@Module({
  imports: [AgentsModule, ModelsModule],
  controllers: [ProvidersController],
  providers: [
    {
      provide: EgressClient,
      inject: [EgressPolicy],
      useFactory: (policy: EgressPolicy) => new EgressClient({ policy, limits: PATIENT_LIMITS }),
    },
    {
      provide: Keyring,
      inject: [SECRETS, CONFIG],
      useFactory: (secrets: SecretSource, config: Config) => new Keyring(secrets, config),
    },
    {
      provide: AgentProviderRegistry,
      inject: [CONFIG, Keyring, EgressPolicy, EgressClient],
      useFactory: agentProviders,
    },
    {
      provide: ModelCatalog,
      inject: [VendorRegistry, Keyring, EgressClient],
      useFactory: (vendors: VendorRegistry, { forModels }: Keyring, { fetch }: EgressClient) =>
        new ModelCatalog({ vendors, secrets: forModels, fetch }),
    },
  ],
  exports: [EgressClient, AgentProviderRegistry, ModelCatalog],
})
export class ProvidersModule implements OnApplicationShutdown {
  constructor(@Inject(EgressClient) private readonly egress: EgressClient) {}

  async onApplicationShutdown(): Promise<void> {
    await this.egress.close();
  }
}
