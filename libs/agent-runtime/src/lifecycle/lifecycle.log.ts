import { Logger } from '@nestjs/common';
import type { DefinitionKey } from '../definitions/definition.js';
import type { ShutdownDetail, ShutdownReport } from './shutdown/shutdown.report.js';
import type { SpawnedFacts } from './spawned.agent.js';

const log = new Logger('agents');

/** The log events of the lifecycle, with the fields of the specification (S1.9). */
export const LifecycleLog = {
  spawned({ namespace, name, agentType, provider }: SpawnedFacts): void {
    log.log({ event: 'agent.spawned', namespace, name, agentType, provider });
  },

  closed({ namespace, name }: DefinitionKey, { error }: ShutdownDetail): void {
    if (error) log.warn({ event: 'agent.shutdown_failed', namespace, name, error: error.message });
    else log.log({ event: 'agent.shutdown', namespace, name });
  },

  hostLost(replicaId: string, agents: number): void {
    log.warn({ event: 'agents.host_lost', replicaId, agents });
  },

  allClosed({ succeeded, failed }: ShutdownReport): void {
    const failures = Object.keys(failed).length;
    const count = succeeded.length + failures;
    log.log({ event: 'registry.shutdown_all', count, succeeded: succeeded.length, failed: failures });
  },
};
