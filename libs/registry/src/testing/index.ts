export { dropDatabase, emptyDatabase, testDatabase, type TestDatabase } from './test-database.js';
export { until } from './until.js';
export { anEntry, type EntryWishes } from './directory-entries.js';
export { readAll, testEvents, type TestEvents } from './test-events.js';
export {
  eventStorm,
  prepareStorm,
  settleStorm,
  stormKiller,
  stormReplica,
  type StormOptions,
  type StormReport,
} from './event-storm.js';
export { aRegistration, testRegistry, type TestRegistry } from './test-registry.js';
export { CuttableProxy, proxyPostgres } from './cuttable-proxy.js';
export { FreezablePostgres } from './freezable-postgres.js';
export { SlowProxy } from './slow-proxy.js';
export { TwoReplicas } from './two-replicas.js';
export { RecordingSink } from './recording-sink.js';
export { aBudget, aBudgetState, anAsk, testBudgets, type TestBudgets } from './test-budgets.js';
export { budgetCrashes, budgetRace, type CrashReport, type RaceReport } from './budget-storm.js';
