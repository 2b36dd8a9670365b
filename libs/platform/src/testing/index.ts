export { dropDatabase, emptyDatabase, testDatabase, type TestDatabase } from './test-database.js';
export {
  appendEvents,
  eventsOf,
  readAll,
  RecordedFaults,
  SOME_EVENTS,
  testEvents,
  type TestEvents,
  testPlatformOptions,
  testReplica,
  type TestReplica,
} from './test-events.js';
export { eventStorm, prepareStorm, settleStorm, stormKiller, stormReplica } from './event-storm.js';
export { CuttableProxy, proxyPostgres } from './cuttable-proxy.js';
export { SlowProxy } from './slow-proxy.js';
export { CountingProxy } from './counting-proxy.js';
export type { DatabaseTraffic } from './database-traffic.js';
export { FreezablePostgres } from './freezable-postgres.js';
export { RecordingSink } from './recording-sink.js';
export { PLATFORM_ENTITIES } from './entities.js';
