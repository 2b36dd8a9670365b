import { Module } from '@nestjs/common';
import { Database, RegistryEvents } from '#rollcall/platform';
import { EgressPolicy, EndpointCheck } from '#rollcall/providers';
import { LiveRegistry } from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { AuthModule } from '../auth/auth.module.js';
import { AgentSockets } from './agent.sockets.js';
import { leasePolicy, registryPolicies } from '../config/registry.policies.js';
import { SnapshotController } from './snapshot.controller.js';
import { AgentsController } from './agents.controller.js';
import { AgentsGateway } from './agents.gateway.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { DiscoveryController } from './discovery.controller.js';
import { LivenessController } from './liveness.controller.js';
import { QuestionReader } from './question.reader.js';
import { RegistrationBatchController } from './registration-batch.controller.js';
import { RegistrationBatchReader } from './registration-batch.reader.js';
import { RegistryLoops } from './registry.loops.js';
import { WishesController } from './wishes.controller.js';

@Module({
  imports: [AuthModule],
  controllers: [
    SnapshotController,
    DiscoveryController,
    RegistrationBatchController,
    AgentsController,
    WishesController,
    LivenessController,
  ],
  providers: [
    QuestionReader,
    RegistrationBatchReader,
    AgentSockets,
    AgentsGateway,
    RegistryLoops,
    { provide: LEASE_POLICY, inject: [CONFIG], useFactory: leasePolicy },
    {
      provide: LiveRegistry,
      inject: [Database, RegistryEvents, CONFIG],
      useFactory: (db: Database, events: RegistryEvents, config: Config) =>
        new LiveRegistry(db, events, registryPolicies(config)),
    },
    {
      provide: EgressPolicy,
      inject: [CONFIG],
      useFactory: ({ database, egress }: Config) =>
        new EgressPolicy({
          allow: egress.allow,
          allowLoopback: !database.url,
          howToOpen: 'with egress.allow (ROLLCALL_EGRESS_ALLOW)',
        }),
    },
    {
      provide: EndpointCheck,
      inject: [EgressPolicy],
      useFactory: (policy: EgressPolicy) => new EndpointCheck({ policy }),
    },
  ],
  exports: [EgressPolicy, LiveRegistry],
})
export class AgentsModule {}
