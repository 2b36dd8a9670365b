import { Module } from '@nestjs/common';
import { CONFIG } from '../config/config.token.js';
import { AuthModule } from '../auth/auth.module.js';
import { AgentLookup } from './agent.lookup.js';
import { AgentMetrics, LivenessMetrics } from './agent.metrics.js';
import { AgentQueries } from './agent.queries.js';
import { AgentRegistrations } from './agent.registrations.js';
import { AgentSocketAccess } from './agent-socket.access.js';
import { AgentSockets } from './agent.sockets.js';
import { leasePolicy } from '../config/library.options.js';
import { SnapshotController } from './snapshot.controller.js';
import { AgentsController } from './agents.controller.js';
import { AgentsGateway } from './agents.gateway.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { CircuitsController } from './circuits.controller.js';
import { ContractQueries } from './contract.queries.js';
import { DiscoveryController } from './discovery.controller.js';
import { LivenessController } from './liveness.controller.js';
import { ProtectionController } from './protection.controller.js';
import { QueryReader } from './query.reader.js';
import { RegistrationBatchController } from './registration-batch.controller.js';
import { RegistrationReader } from './registration.reader.js';
import { RegistrationBatchReader } from './registration-batch.reader.js';
import { RegistrationBatchWriter } from './registration-batch.writer.js';
import { RemoteDocuments } from './remote.documents.js';
import { OperatorActionsController } from './operator-actions.controller.js';

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
    CircuitsController,
  ],
  providers: [
    AgentMetrics,
    LivenessMetrics,
    ContractQueries,
    QueryReader,
    AgentLookup,
    AgentQueries,
    AgentRegistrations,
    RegistrationBatchReader,
    RegistrationBatchWriter,
    RegistrationReader,
    RemoteDocuments,
    AgentSockets,
    AgentSocketAccess,
    AgentsGateway,
    { provide: LEASE_POLICY, inject: [CONFIG], useFactory: leasePolicy },
  ],
  exports: [
    AgentLookup,
    AgentQueries,
    AgentRegistrations,
    RegistrationBatchReader,
    RegistrationBatchWriter,
    RemoteDocuments,
  ],
})
export class AgentsModule {}
