export { InMemorySpending } from './in-memory.spending.js';
export { describeSpendingContract } from './spending.contract.js';
export { HOSTILE_SCHEMAS } from './hostile.schemas.js';
export { given, outcomeOf } from './given.js';
export { runFaults } from './run.ledger.js';
export { TestCalls } from './tool-calls.js';
export { type TestRuntime, testRuntime, type TestRuntimeOptions } from './test-runtime.js';
export { RUNTIME_ENTITIES } from './entities.js';
export { FakeAgentProvider } from './fake.agent-provider.js';
