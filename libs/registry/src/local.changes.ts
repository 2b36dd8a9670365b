import { Injectable } from '@nestjs/common';
import { AgentEvents } from './agents/agent.events.js';
import { BudgetEvents } from './budgets/budget.events.js';
import { BudgetSweeper } from './budgets/budget.sweeper.js';
import { DirectorySync } from './discovery/directory/directory.sync.js';
import { ReplicaChanges } from './discovery/directory/replica.changes.js';
import { HeartbeatBatcher } from './leases/heartbeat.batcher.js';

/**
 * Passes the changes of this replica, once they are committed, to its directory and budget sweeper, before the event feed delivers them, and to
 * other replicas.
 */
@Injectable()
export class LocalChanges {
  constructor(
    heartbeats: HeartbeatBatcher,
    agents: AgentEvents,
    budgets: BudgetEvents,
    directory: DirectorySync,
    sweeper: BudgetSweeper,
    replicas: ReplicaChanges,
  ) {
    heartbeats.onBeats((beats, committed) => directory.applyOwnBeats(beats, committed));
    heartbeats.onBeats((beats) => sweeper.onHeartbeats(beats));
    heartbeats.onBeats((beats) => replicas.noteBeats(beats));
    agents.onChange((agentIds) => directory.scheduleRefresh(agentIds));
    agents.onWrite((rows, now) => directory.apply(rows, now));
    budgets.onChange((changed) => directory.applyBudgets(changed));
    budgets.onChange((changed) => replicas.noteCharges(changed));
  }
}
