export { dropDatabase, emptyDatabase, testDatabase, type TestDatabase } from './test-database.js';
export { until } from './until.js';
export { anEntry, type EntryWishes } from './directory-entries.js';
