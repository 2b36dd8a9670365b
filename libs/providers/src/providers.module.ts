import { type DynamicModule, Inject, Module, type OnApplicationShutdown, type Provider } from '@nestjs/common';
import { A2aAgentProvider } from './agents/a2a/a2a.agent-provider.js';
import { AgentProviderRegistry, type OutboundOptions } from './agents/agent.provider.js';
import { CallSigners } from './agents/call.token.js';
import { ClaudeSdkAgentProvider } from './agents/claude-sdk/claude-sdk.agent-provider.js';
import { HttpAgentProvider } from './agents/http/http.agent-provider.js';
import { SubprocessAgentProvider } from './agents/subprocess/subprocess.agent-provider.js';
import { EgressClient, LONG_CALL_LIMITS } from './egress/egress.client.js';
import { EgressPolicy } from './egress/egress.policy.js';
import { EndpointCheck } from './egress/endpoint.check.js';
import { McpClients } from './mcp/mcp.clients.js';
import { VendorRegistry } from './models/vendor.registry.js';
import { ModelCatalog } from './presets/model.catalog.js';
import type { NamedRegistry } from './named.registry.js';
import { PresetCatalog } from './presets/preset.catalog.js';
import type { AgentProviderOptions, ProvidersOptions } from './providers.options.js';
import { Keyring } from './secrets/keyring.js';

/** Model vendors, agent providers, MCP clients, and the egress client for the HTTP requests that Rollcall itself sends. */
@Module({})
export class ProvidersModule implements OnApplicationShutdown {
  constructor(
    @Inject(EgressClient) private readonly egress: EgressClient,
    @Inject(McpClients) private readonly mcp: McpClients,
  ) {}

  static forRoot(options: ProvidersOptions): DynamicModule {
    const providers = [
      ...egressProviders(options),
      ...modelProviders(options),
      registryOfAgentProviders(options),
      mcpClients(options),
      CallSigners,
    ];
    const exports = [
      EgressPolicy,
      EndpointCheck,
      EgressClient,
      Keyring,
      PresetCatalog,
      VendorRegistry,
      ModelCatalog,
      AgentProviderRegistry,
      McpClients,
      CallSigners,
    ];
    return { module: ProvidersModule, global: true, providers, exports };
  }

  async onApplicationShutdown(): Promise<void> {
    await this.mcp.close();
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
    { provide: PresetCatalog, useFactory: () => new PresetCatalog(options.models, options.prices) },
    { provide: VendorRegistry, useFactory: () => withMore(VendorRegistry.withAll(), options.vendors) },
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
    inject: [Keyring, EgressPolicy, EgressClient, CallSigners],
    useFactory: (keys: Keyring, policy: EgressPolicy, { fetch }: EgressClient, signer: CallSigners) =>
      withMore(
        agentProviders(options.agents, keys, { fetch, policy, secrets: keys.forAgents, signer }),
        options.agentProviders,
      ),
  };
}

function withMore<Item extends { readonly name: string }, Registry extends NamedRegistry<Item>>(
  registry: Registry,
  more: readonly Item[] = [],
): Registry {
  for (const item of more) registry.register(item);
  return registry;
}

/** Creates all agent providers of this library. Register a new provider here. */
function agentProviders(
  { programs, claude }: AgentProviderOptions,
  keys: Keyring,
  outbound: OutboundOptions,
): AgentProviderRegistry {
  const { tools: allowedTools, folder: cwd, ...others } = claude;
  return new AgentProviderRegistry()
    .register(new A2aAgentProvider(outbound))
    .register(new HttpAgentProvider(outbound))
    .register(new SubprocessAgentProvider({ programs, secrets: keys.forPrograms }))
    .register(new ClaudeSdkAgentProvider({ secrets: keys.forClaude, allowedTools, cwd, ...others }));
}

function mcpClients({ mcpServers: servers = {}, agents }: ProvidersOptions): Provider {
  return {
    provide: McpClients,
    inject: [Keyring, EgressClient],
    useFactory: (keys: Keyring, { fetch }: EgressClient) =>
      new McpClients({ servers, programs: agents.programs, fetch, secretsOf: (config) => keys.forMcp(config) }),
  };
}
