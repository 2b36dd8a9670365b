export { InMemorySpending } from './in-memory.spending.js';
export { describeSpendingContract } from './spending.contract.js';
export { given } from './given.js';
export { TestCalls } from './tool-calls.js';
