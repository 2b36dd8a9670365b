import type { ApiParamOptions } from '@nestjs/swagger';
import type { RegisterBody } from './registration/registration.dto.js';

/** The path parameter of the routes of one agent. */
export const AGENT_ID: ApiParamOptions = { name: 'id', description: 'The agentId.', example: 'builder-01' };

const COMPLETE: RegisterBody = {
  agentId: 'builder-01',
  name: 'swarm-builder',
  endpoint: 'https://builder.example:5091',
  agentCard: { name: 'swarm-builder' },
  capabilities: ['plan', 'build', 'code-generation'],
  sandboxLevel: 2,
  provider: { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' },
  budget: { totalTokens: 500_000, usedTokens: 123_456, source: 'reported' },
  costModel: { usdPerTask: 0, usdPer1kTokens: 0.003 },
  capacity: 8,
  declaredMs: 1_200,
  typicalTokens: 4_000,
  version: '1.4.2',
  labels: { team: 'platform' },
};
const SHORT: RegisterBody = { name: 'swarm-builder', capabilities: ['build'] };

/** The examples have no `leaseToken`, because only a registered agent has one. */
export const REGISTER_AGENT_EXAMPLES = {
  complete: { summary: 'All fields', value: COMPLETE },
  short: { summary: 'Required fields', value: SHORT },
};

export const REGISTER_BATCH_EXAMPLES = {
  two: { summary: 'Two agents', value: { agents: [{ ...SHORT, agentId: 'builder-02' }, SHORT] } },
};

export const QUERY_EXAMPLES = {
  cheapest: {
    summary: 'The cheapest agents with a capability, and why the others are excluded',
    value: { capabilities: ['build'], prefer: 'cheapest', limit: 10, explain: true },
  },
  auction: {
    summary: 'Let the agents bid',
    value: { capabilities: ['build'], prefer: 'contract-net', task: 'Build the site.', waitMs: 3_000 },
  },
};
