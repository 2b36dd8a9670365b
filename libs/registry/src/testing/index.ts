export { anEntry, type EntryOverrides } from './directory-entries.js';
export { aRegistration, testRegistry, type TestRegistry, DEFAULT_REGISTRY_OPTIONS } from './test-registry.js';
export { TwoReplicas } from './two-replicas.js';
export { aBudget, aBudgetState, aReserveRequest, testBudgets, type TestBudgets } from './test-budgets.js';
export { budgetCrashes, budgetRace, type CrashReport, type RaceReport } from './budget-storm.js';
