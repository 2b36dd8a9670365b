import type { ApiParamOptions } from '@nestjs/swagger';

export const CONTRACT_ID: ApiParamOptions = {
  name: 'id',
  description: 'The id of the contract.',
  example: '5f0c8d6e7a1b4c2d9e3f4a5b6c7d8e9f',
};

export const ANNOUNCE_EXAMPLES = {
  announce: {
    summary: 'Ask all builders for a bid',
    value: {
      capabilities: ['build'],
      task: 'Build the branch main.',
      bidWithinMs: 5_000,
      limits: { price: 100_000, etaMs: 600_000 },
    },
  },
  run: {
    summary: 'Start a run with the winner, and prefer fast agents',
    value: {
      capabilities: ['build'],
      task: 'Build the branch main.',
      weights: { price: 0.1, eta: 0.7 },
      run: true,
    },
  },
};

export const BID_EXAMPLES = {
  bid: {
    summary: 'Bid',
    value: { agentId: 'builder-01', generation: 1, price: 40_000, etaMs: 90_000, confidence: 0.9 },
  },
  refuse: { summary: 'Refuse', value: { agentId: 'builder-01', generation: 1, refuse: true, note: 'Too busy.' } },
};
