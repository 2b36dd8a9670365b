/** The record of the RFC, for the documentation. */
export const AGENT_EXAMPLE = {
  agentId: 'builder-01',
  name: 'swarm-builder',
  status: 'active',
  endpoint: 'http://localhost:5091',
  agentCard: null,
  capabilities: ['plan', 'build', 'code-generation'],
  sandboxLevel: 2,
  provider: { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' },
  budget: { totalTokens: 500_000, usedTokens: 123_456, remaining: 376_544, source: 'langfuse' },
  health: {
    state: 'active',
    lastHeartbeat: '2026-02-24T10:30:00.000Z',
    consecutiveFailures: 0,
    circuitBreakerState: 'closed',
  },
  registeredAt: '2026-02-24T10:00:00.000Z',
  lastTaskAt: '2026-02-24T10:25:00.000Z',
  generation: 1,
};

export const REGISTRATION_EXAMPLE = {
  agentId: 'builder-01',
  generation: 1,
  leaseToken: 'rl_…',
  heartbeat: { intervalMs: 10_000, leaseMs: 31_000 },
  agent: AGENT_EXAMPLE,
};
