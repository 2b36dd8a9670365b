import { Module } from '@nestjs/common';
import { EgressPolicy } from '#rollcall/providers';
import {
  Database,
  LiveRegistry,
  RegistryEvents,
  USUAL_CIRCUIT_POLICY,
  USUAL_FLAP_POLICY,
  USUAL_LEASE_POLICY,
  USUAL_PROTECTION_POLICY,
} from '#rollcall/registry';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { SnapshotController } from './snapshot.controller.js';
import { AgentsController } from './agents.controller.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { DiscoveryController } from './discovery.controller.js';
import { LivenessController } from './liveness.controller.js';
import { RegistryLoops } from './registry.loops.js';

@Module({
  controllers: [SnapshotController, DiscoveryController, AgentsController, LivenessController],
  providers: [
    RegistryLoops,
    { provide: LEASE_POLICY, inject: [CONFIG], useFactory: leasePolicy },
    {
      provide: LiveRegistry,
      inject: [Database, RegistryEvents, CONFIG],
      useFactory: (db: Database, events: RegistryEvents, config: Config) =>
        new LiveRegistry(db, events, {
          lease: leasePolicy(config),
          protection: USUAL_PROTECTION_POLICY,
          circuit: USUAL_CIRCUIT_POLICY,
          flap: USUAL_FLAP_POLICY,
        }),
    },
    {
      provide: EgressPolicy,
      inject: [CONFIG],
      useFactory: ({ database, egress }: Config) =>
        new EgressPolicy({ allow: egress.allow, allowLoopback: !database.url }),
    },
  ],
  exports: [LiveRegistry, EgressPolicy],
})
export class AgentsModule {}

function leasePolicy({ registry }: Config): typeof USUAL_LEASE_POLICY {
  return { ...USUAL_LEASE_POLICY, intervalMs: registry.heartbeatEvery, missesUntilEvicted: registry.missedBeats };
}
