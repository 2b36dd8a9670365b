import { type DynamicModule, Inject, Module, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { AgentProviderRegistry } from './agents/agent-provider.registry.js';
import { agentProviders } from './agents/agent-providers.js';
import { EgressClient, LONG_CALL_LIMITS } from './egress/egress.client.js';
import { EgressPolicy } from './egress/egress.policy.js';
import { EndpointCheck } from './egress/endpoint.check.js';
import { Keyring } from './keyring.js';
import { VendorRegistry } from './models/vendor.registry.js';
import { ModelCatalog } from './presets/model.catalog.js';
import { PresetCatalog } from './presets/preset.catalog.js';
import type { ProvidersOptions } from './providers.options.js';

/** Model vendors, agent providers, and the egress client that sends their requests. */
@Module({})
export class ProvidersModule implements OnApplicationShutdown {
  constructor(@Inject(EgressClient) private readonly egress: EgressClient) {}

  static forRoot(options: ProvidersOptions): DynamicModule {
    const providers = [...egressProviders(options), ...modelProviders(options), registryOfAgentProviders(options)];
    const exports = [
      EgressPolicy,
      EndpointCheck,
      EgressClient,
      Keyring,
      PresetCatalog,
      VendorRegistry,
      ModelCatalog,
      AgentProviderRegistry,
    ];
    return { module: ProvidersModule, global: true, providers, exports };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.egress.close();
  }
}

function egressProviders(options: ProvidersOptions): Provider[] {
  return [
    { provide: EgressPolicy, useFactory: () => new EgressPolicy(options.egress) },
    {
      provide: EndpointCheck,
      inject: [EgressPolicy],
      useFactory: (policy: EgressPolicy) => new EndpointCheck({ policy, totalTimeoutMs: options.checkTimeoutMs }),
    },
    {
      provide: EgressClient,
      inject: [EgressPolicy],
      useFactory: (policy: EgressPolicy) => new EgressClient({ policy, limits: LONG_CALL_LIMITS }),
    },
  ];
}

function modelProviders(options: ProvidersOptions): Provider[] {
  return [
    { provide: Keyring, useFactory: () => new Keyring(options) },
    { provide: PresetCatalog, useFactory: () => new PresetCatalog(options.models) },
    { provide: VendorRegistry, useFactory: () => VendorRegistry.withAll() },
    {
      provide: ModelCatalog,
      inject: [VendorRegistry, Keyring, EgressClient],
      useFactory: (vendors: VendorRegistry, { forModels }: Keyring, { fetch }: EgressClient) =>
        new ModelCatalog({ vendors, secrets: forModels, fetch }),
    },
  ];
}

function registryOfAgentProviders(options: ProvidersOptions): Provider {
  return {
    provide: AgentProviderRegistry,
    inject: [Keyring, EgressPolicy, EgressClient],
    useFactory: (keys: Keyring, policy: EgressPolicy, client: EgressClient) =>
      agentProviders(options.agents, keys, policy, client),
  };
}
