import { type DynamicModule, Global, Module } from '@nestjs/common';
import { AgentRuntimeModule } from '#rollcall/agent-runtime';
import { PlatformModule, type PlatformOptions } from '#rollcall/platform';
import { ProvidersModule, type SecretSource } from '#rollcall/providers';
import { RegistryModule } from '#rollcall/registry';
import { A2aModule } from './a2a/a2a.module.js';
import { AgentsModule } from './agents/agents.module.js';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { BudgetsModule } from './budgets/budgets.module.js';
import { CatalogModule } from './catalog/catalog.module.js';
import type { Config } from './config/config.schema.js';
import { CONFIG } from './config/config.token.js';
import { platformOptions, providersOptions, registryOptions, runtimeOptions } from './config/library.options.js';
import { ContractsModule } from './contracts/contracts.module.js';
import { DefinitionsModule } from './definitions/definitions.module.js';
import { EventsModule } from './events/events.module.js';
import { HealthModule } from './health/health.module.js';
import { Lifecycle } from './health/lifecycle.js';
import { PreparedDocuments } from './http/prepared.documents.js';
import { PublicUrl } from './http/public.url.js';
import { InFlight } from './http/server/in-flight.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { KeysModule } from './keys/keys.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { LimitsModule } from './limits/storage.rate.js';
import { ModelsModule } from './models/models.module.js';
import { NamespacesModule } from './namespaces/namespaces.module.js';
import { type Plugins, withPlugins } from './plugins/plugins.js';
import { PluginsModule } from './plugins/plugins.module.js';
import { ConversationsModule } from './conversations/conversations.module.js';
import { RunsModule } from './runs/runs.module.js';
import { RuntimeModule } from './runtime/runtime.module.js';
import { SessionsModule } from './sessions/sessions.module.js';
import { SinksModule } from './sinks/sinks.module.js';
import { SkillsModule } from './skills/skills.module.js';
import { SummaryModule } from './summary/summary.module.js';
import { StreamsModule } from './streams/streams.module.js';
import type { HttpMetrics } from './telemetry/http.metrics.js';
import type { TerminalSummary } from './telemetry/terminal.js';
import { TelemetryModule } from './telemetry/telemetry.module.js';
import { ToolsModule } from './tools/tools.module.js';

/** Objects that exist before the Nest application, because the HTTP server and the start need them. */
export interface Foundations {
  config: Config;
  database: PlatformOptions['database'];
  lifecycle: Lifecycle;
  metrics: HttpMetrics;
  /** Present only if the logs are formatted for a terminal. */
  summary?: TerminalSummary;
  inFlight: InFlight;
  secrets: SecretSource;
  plugins: Plugins;
}

@Global()
@Module({})
class FoundationModule {
  static with({ config, lifecycle, inFlight }: Foundations): DynamicModule {
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: Lifecycle, useValue: lifecycle },
      { provide: InFlight, useValue: inFlight },
      PreparedDocuments,
      PublicUrl,
    ];
    return {
      module: FoundationModule,
      imports: [AuditModule, IdempotencyModule],
      providers,
      exports: [...providers, AuditModule, IdempotencyModule],
    };
  }
}

/** The composition root: the configured libraries and the feature modules of the API. */
@Module({})
export class AppModule {
  static with(foundations: Foundations): DynamicModule {
    return {
      module: AppModule,
      imports: [
        FoundationModule.with(foundations),
        ...libraries(foundations),
        HealthModule,
        TelemetryModule.forRoot(foundations.metrics, foundations.summary),
        LimitsModule,
        AuthModule,
        KeysModule,
        SessionsModule,
        NamespacesModule,
        StreamsModule,
        EventsModule,
        AgentsModule,
        BudgetsModule,
        SummaryModule,
        DefinitionsModule,
        RuntimeModule,
        ModelsModule,
        RunsModule,
        ConversationsModule,
        ContractsModule,
        A2aModule,
        McpModule,
        CatalogModule,
        SkillsModule,
        SinksModule,
        ToolsModule,
        PluginsModule.forRoot(foundations.plugins),
      ],
    };
  }
}

function libraries({ config, database, secrets, plugins }: Foundations): DynamicModule[] {
  return [
    PlatformModule.forRoot(platformOptions(config, database)),
    RegistryModule.forRoot(registryOptions(config, plugins)),
    ProvidersModule.forRoot(providersOptions(config, secrets, plugins)),
    AgentRuntimeModule.forRoot(withPlugins(runtimeOptions(config), plugins)),
  ];
}
