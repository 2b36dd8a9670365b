import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { CONFIG } from '../config/config.token.js';
import { leasePolicy } from '../config/library.options.js';
import { AgentMetrics, LivenessMetrics } from './agent.metrics.js';
import { AgentLookup } from './discovery/agent.lookup.js';
import { AgentQueries } from './discovery/agent.queries.js';
import { ContractQueries } from './discovery/contract.queries.js';
import { DiscoveryController } from './discovery/discovery.controller.js';
import { SnapshotController } from './discovery/snapshot.controller.js';
import { AgentSockets } from './liveness/agent.sockets.js';
import { AgentsGateway, AgentSocketAccess } from './liveness/agents.gateway.js';
import { LEASE_POLICY } from './liveness/heartbeat.js';
import { LivenessController } from './liveness/liveness.controller.js';
import { CircuitsController } from './operation/circuits.controller.js';
import { OperatorActionsController } from './operation/operator-actions.controller.js';
import { ProtectionController } from './operation/protection.controller.js';
import { AgentRegistrations } from './registration/agent.registrations.js';
import { AgentsController } from './registration/agents.controller.js';
import { RegistrationBatchController } from './registration/registration-batch.controller.js';
import { RegistrationBatches } from './registration/registration.batches.js';
import { RemoteDocuments } from './registration/remote.documents.js';
import { WorkController } from './work/work.controller.js';
import { WorkNotices } from './work/work.notices.js';

@Module({
  imports: [AuthModule],
  controllers: [
    SnapshotController,
    DiscoveryController,
    ProtectionController,
    RegistrationBatchController,
    AgentsController,
    OperatorActionsController,
    LivenessController,
    WorkController,
    CircuitsController,
  ],
  providers: [
    AgentMetrics,
    LivenessMetrics,
    ContractQueries,
    AgentLookup,
    AgentQueries,
    AgentRegistrations,
    RegistrationBatches,
    RemoteDocuments,
    AgentSockets,
    AgentSocketAccess,
    AgentsGateway,
    WorkNotices,
    { provide: LEASE_POLICY, inject: [CONFIG], useFactory: leasePolicy },
  ],
  exports: [AgentLookup, AgentQueries, AgentRegistrations, RegistrationBatches, RemoteDocuments],
})
export class AgentsModule {}
