import { type DynamicModule, Global, Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { PlatformModule, type PlatformOptions } from '#rollcall/platform';
import type { SecretSource } from '#rollcall/providers';
import { RegistryModule } from '#rollcall/registry';
import { AgentsModule } from './agents/agents.module.js';
import { AuditModule } from './audit/audit.module.js';
import { AuthModule } from './auth/auth.module.js';
import { BudgetsModule } from './budgets/budgets.module.js';
import type { Config } from './config/config.schema.js';
import { CONFIG } from './config/config.token.js';
import { platformOptions, registryOptions } from './config/library.options.js';
import { EventsModule } from './events/events.module.js';
import { HealthController } from './health/health.controller.js';
import { Lifecycle } from './health/lifecycle.js';
import { IdempotencyModule } from './idempotency/idempotency.module.js';
import { KeysModule } from './keys/keys.module.js';
import { ModelsModule } from './models/models.module.js';
import { ProvidersModule } from './providers/providers.module.js';
import { SECRETS } from './providers/providers.tokens.js';
import { SinksModule } from './sinks/sinks.module.js';
import { InFlight } from './http/in-flight.js';
import { HttpMetrics } from './telemetry/http.metrics.js';
import { MetricsController } from './telemetry/metrics.controller.js';

/** What exists before the application, because its start needs it. */
export interface Foundations {
  config: Config;
  database: PlatformOptions['database'];
  lifecycle: Lifecycle;
  metrics: HttpMetrics;
  inFlight: InFlight;
  secrets: SecretSource;
}

@Global()
@Module({})
class FoundationModule {
  static with({ config, lifecycle, metrics, inFlight, secrets }: Foundations): DynamicModule {
    const providers = [
      { provide: CONFIG, useValue: config },
      { provide: Lifecycle, useValue: lifecycle },
      { provide: HttpMetrics, useValue: metrics },
      { provide: InFlight, useValue: inFlight },
      { provide: SECRETS, useValue: secrets },
    ];
    return {
      module: FoundationModule,
      imports: [AuditModule, IdempotencyModule],
      providers,
      exports: [...providers, AuditModule, IdempotencyModule],
    };
  }
}

/** The composition root: all wiring is visible here. */
@Module({})
export class AppModule {
  static with(foundations: Foundations): DynamicModule {
    return {
      module: AppModule,
      imports: [
        FoundationModule.with(foundations),
        PlatformModule.forRoot(platformOptions(foundations.config, foundations.database)),
        RegistryModule.forRoot(registryOptions(foundations.config)),
        TerminusModule.forRoot({ logger: false }),
        AuthModule,
        KeysModule,
        EventsModule,
        AgentsModule,
        BudgetsModule,
        ModelsModule,
        ProvidersModule,
        SinksModule,
      ],
      controllers: [HealthController, MetricsController],
    };
  }
}
