import { describeSpendingContract, InMemorySpending } from './index.js';

describeSpendingContract('in memory', async () => {
  const spending = new InMemorySpending();
  return {
    spending,
    there: spending,
    limitAgent: async (agentId, limit) => spending.limitAgent('default', agentId, limit),
    heldBy: async (runId) => spending.heldBy('default', runId),
    close: async () => undefined,
  };
});
