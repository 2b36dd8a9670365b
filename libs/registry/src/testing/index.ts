export { given } from './given.js';
export { type TestRegistry, testRegistry, DEFAULT_REGISTRY_OPTIONS } from './test-registry.js';
export { TwoReplicas } from './two-replicas.js';
export { testBudgets } from './test-budgets.js';
export { budgetCrashes, budgetRace } from './budget-storm.js';
export { REGISTRY_ENTITIES } from './entities.js';
