import { Injectable } from '@nestjs/common';
import { BackgroundFaults, Database, DatabaseStatus } from '#rollcall/platform';
import { counter, gauge, single } from './measure.js';
import { HttpMetrics } from './http.metrics.js';

/** Tables whose rows change most often. */
const BUSY_TABLES = ['agent_lease', 'budget', 'event_staging'];

/** Connections, batches, the state of Postgres, and failures of background work. */
@Injectable()
export class PlatformMetrics {
  constructor(db: Database, status: DatabaseStatus, faults: BackgroundFaults, { registry }: HttpMetrics) {
    const connections = {
      name: 'rollcall_database_connections',
      help: 'Connections of this replica, by pool and state; `waiting` counts operations that wait for a connection.',
      labels: ['pool', 'state'],
    } as const;
    gauge(registry, connections, () =>
      Object.entries(db.poolUse()).flatMap(([pool, { used, idle, waiting }]) =>
        Object.entries({ used, idle, waiting }).map(([state, count]) => [count, { pool, state }] as const),
      ),
    );
    const size = {
      name: 'rollcall_database_pool_size',
      help: 'The maximum number of connections of this replica, by pool.',
      labels: ['pool'],
    } as const;
    gauge(registry, size, () =>
      Object.entries(db.poolUse()).map(([pool, { size: most }]) => [most, { pool }] as const),
    );
    const oldest = {
      name: 'rollcall_database_oldest_transaction_seconds',
      help: 'The age of the oldest open transaction of the database, of any program. The same on every replica.',
    };
    gauge(registry, oldest, async () => single((await status.oldestTransactionMs()) / 1_000));
    const dead = {
      name: 'rollcall_database_dead_rows',
      help: 'Rows that VACUUM has not removed yet, in tables that change often. The same on every replica.',
      labels: ['table'],
    } as const;
    gauge(registry, dead, async () =>
      (await status.deadRows(BUSY_TABLES)).map(({ table, rows }) => [rows, { table }] as const),
    );
    const batches = {
      name: 'rollcall_group_commit_batches_total',
      help: 'Transactions that committed a batch of writes, by kind of write.',
      labels: ['group'],
    } as const;
    counter(registry, batches, () => db.counts.withPrefix('batches.').map(([group, count]) => [count, { group }]));
    const items = {
      name: 'rollcall_group_commit_items_total',
      help: 'Writes that were committed in batches. Divided by the number of batches, this is the average size of a batch.',
      labels: ['group'],
    } as const;
    counter(registry, items, () => db.counts.withPrefix('batched.').map(([group, count]) => [count, { group }]));
    const failures = {
      name: 'rollcall_background_failures_total',
      help: 'Failed passes of background work, such as sweeps and the event sequencer. Each pass is repeated.',
      labels: ['part'],
    } as const;
    counter(registry, failures, () => [...faults.totals()].map(([part, count]) => [count, { part }] as const));
  }
}
