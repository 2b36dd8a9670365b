import { given } from '../testing/given.js';
import { agentBudget, agentLoad, agentStatus, ASSUMED_CAPACITY, LEAVE_REASONS } from './agent.record.js';

describe('the agent record', () => {
  it('S3.1 the agent record has the field names of the specification', () => {
    const { record } = given.entry();
    const fields =
      'agentId name status endpoint agentCard capabilities sandboxLevel provider budget health registeredAt lastTaskAt';
    expect(Object.keys(record)).toEqual(expect.arrayContaining(fields.split(' ')));
    expect(Object.keys(record.provider)).toEqual(['adapter', 'type', 'plan']);
    expect(Object.keys(record.budget)).toEqual(['totalTokens', 'usedTokens', 'remaining', 'source']);
    const health = ['lastHeartbeat', 'consecutiveFailures', 'circuitBreakerState'];
    expect(Object.keys(record.health)).toEqual(expect.arrayContaining(health));
  });

  it('S3.1 an agent has one status: left takes precedence over the desired state, and the desired state over health', () => {
    const status = (left: boolean, desiredState: 'active' | 'draining' | 'quarantined', health: 'active' | 'suspect') =>
      agentStatus({ left, desiredState, health });
    expect(status(true, 'quarantined', 'suspect')).toBe('left');
    expect(status(false, 'quarantined', 'suspect')).toBe('quarantined');
    expect(status(false, 'draining', 'suspect')).toBe('draining');
    expect(status(false, 'active', 'suspect')).toBe('suspect');
    expect(status(false, 'active', 'active')).toBe('active');
  });

  it('S3.1 there are seven leave reasons', () => {
    expect(LEAVE_REASONS).toHaveLength(7);
  });

  it('S3.10 the record has the remaining tokens of its budget, or null if the budget is unlimited', () => {
    expect(agentBudget({ totalTokens: 500_000, usedTokens: 123_456, source: 'langfuse' }).remaining).toBe(376_544);
    expect(agentBudget({ totalTokens: 10, usedTokens: 12, source: 'langfuse' }).remaining).toBe(0);
    expect(agentBudget({ totalTokens: null, usedTokens: 12, source: 'reported' }).remaining).toBeNull();
  });

  it('S3.7 the record has the load ratio that the agent reports, or else the ratio of calls in flight to capacity', () => {
    expect(agentLoad({ inFlight: 3, capacity: 4 }).ratio).toBe(0.75);
    expect(agentLoad({ inFlight: 3, capacity: 4, reportedRatio: 0.2 }).ratio).toBe(0.2);
    expect(agentLoad({ inFlight: ASSUMED_CAPACITY, capacity: null }).ratio).toBe(1);
    expect(agentLoad({ inFlight: 2, capacity: 0 }).ratio).toBe(2);
  });
});
