export { dropDatabase, emptyDatabase, testDatabase, type TestDatabase } from './test-database.js';
export { until } from './until.js';
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
export { FreezablePostgres } from './freezable-postgres.js';
export { RecordingSink } from './recording-sink.js';
