import type { ApiParamOptions } from '@nestjs/swagger';

export const RUN_ID: ApiParamOptions = {
  name: 'id',
  description: 'The id of the run.',
  example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f',
};

export const START_EXAMPLES = {
  definition: {
    summary: 'Run a definition with a budget',
    value: { definition: 'reviewer', input: 'Review the last change.', budget: { tokens: 100_000, microUsd: null } },
  },
  capabilities: {
    summary: 'Run the best agent with these capabilities',
    value: { capabilities: ['code.review'], prefer: 'cheapest', input: 'Review the last change.' },
  },
};

export const DECISION_EXAMPLES = {
  approve: { summary: 'Approve a call', value: { callId: 'call-1', inputHash: '9f86d081884c7d65', approved: true } },
  reject: {
    summary: 'Reject a call',
    value: { callId: 'call-1', inputHash: '9f86d081884c7d65', approved: false, reason: 'The amount is too high.' },
  },
  executed: {
    summary: 'Record the result of an interrupted call that was executed',
    value: { callId: 'call-1', inputHash: '9f86d081884c7d65', approved: true, output: 'paid' },
  },
};
