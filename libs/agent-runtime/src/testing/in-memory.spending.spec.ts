import { describeSpendingContract, InMemorySpending } from './index.js';

describeSpendingContract('in memory', async () => {
  const spending = new InMemorySpending();
  return {
    spending,
    there: spending,
    limit: async (kind, subject, limit) => spending.limit(kind, 'default', subject, limit),
    heldBy: async (runId) => spending.heldBy('default', runId),
    close: async () => undefined,
  };
});
