export { anEntry, type EntryOverrides } from './directory-entries.js';
export { aRegistration, testRegistry, type TestRegistry, USUAL_REGISTRY } from './test-registry.js';
export { TwoReplicas } from './two-replicas.js';
export { aBudget, aBudgetState, anAsk, testBudgets, type TestBudgets } from './test-budgets.js';
export { budgetCrashes, budgetRace, type CrashReport, type RaceReport } from './budget-storm.js';
