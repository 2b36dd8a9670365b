import {
  DEFAULT_CIRCUIT_POLICY,
  DEFAULT_FLAP_POLICY,
  DEFAULT_FOLLOWER_OPTIONS,
  DEFAULT_LEASE_POLICY,
  DEFAULT_LOW_BUDGET,
  DEFAULT_PROTECTION_POLICY,
  DEFAULT_SPENDING_LIMITS,
} from '#rollcall/registry';
import { ConfigError, loadConfig } from './config.loader.js';
import { registryPolicies } from './registry.policies.js';

function errorsOf(environment: Record<string, string>): string[] {
  try {
    loadConfig(environment, '/nowhere');
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
}

describe('the policies of the registry', () => {
  it('S3.8 B5 the policies have the default values without settings', () => {
    const { directory, follower, ...policies } = registryPolicies(loadConfig({}, '/nowhere'));
    expect(follower?.staleMs).toBe(DEFAULT_FOLLOWER_OPTIONS.staleMs);
    expect(policies).toEqual({
      lease: DEFAULT_LEASE_POLICY,
      protection: DEFAULT_PROTECTION_POLICY,
      circuit: DEFAULT_CIRCUIT_POLICY,
      flap: DEFAULT_FLAP_POLICY,
      budgets: {
        low: DEFAULT_LOW_BUDGET,
        limits: DEFAULT_SPENDING_LIMITS,
        runDepth: 32,
        heldQuota: { limit: 10_000, setting: 'ROLLCALL_QUOTA_RESERVATIONS' },
      },
      contracts: { quota: { limit: 1_000, setting: 'ROLLCALL_QUOTA_CONTRACTS' } },
      agentQuota: { limit: 10_000, setting: 'ROLLCALL_QUOTA_AGENTS' },
    });
    expect(directory?.aliases?.resolve('coding')).toBe('coding');
  });

  it('S3.8 S3.12 B5 the policies have the values of the settings', () => {
    const config = loadConfig(
      {
        ROLLCALL_CAPABILITY_ALIASES: '{"coding": "code"}',
        ROLLCALL_BUDGET_LOW_PERCENT: '25',
        ROLLCALL_BUDGET_LOW_TOKENS: '0',
        ROLLCALL_CIRCUIT_FAILURES: '3',
        ROLLCALL_CIRCUIT_COOL_DOWN: '2s',
        ROLLCALL_CIRCUIT_BACK_OFF: '1.5',
        ROLLCALL_CIRCUIT_LONGEST_COOL_DOWN: '1m',
        ROLLCALL_CIRCUIT_PROBE: '5s',
        ROLLCALL_PROTECTION_PERCENT: '50',
        ROLLCALL_PROTECTION_FEWEST: '10',
        ROLLCALL_PROTECTION_LONGEST: '1h',
        ROLLCALL_PROTECTION_EVICTIONS_PER_MINUTE: '6',
        ROLLCALL_FLAPPING_SUPPRESS_AT: '5',
        ROLLCALL_FLAPPING_REUSE_BELOW: '0.5',
        ROLLCALL_FLAPPING_HALF_LIFE: '30s',
        ROLLCALL_FLAPPING_LONGEST: '5m',
      },
      '/nowhere',
    );
    const { directory, ...policies } = registryPolicies(config);
    expect(policies).toMatchObject({
      circuit: { failuresToOpen: 3, coolDownMs: 2_000, backOff: 1.5, longestCoolDownMs: 60_000, probeMs: 5_000 },
      protection: { threshold: 0.5, fewest: 10, longestMs: 3_600_000, evictionsPerMinute: 6 },
      flap: { suppressAt: 5_000, reuseBelow: 500, halfLifeMs: 30_000, longestMs: 300_000 },
      budgets: { low: { fraction: 0.25, tokens: 0 } },
    });
    expect(directory?.aliases?.resolve('coding.rust')).toBe('code.rust');
  });

  it.each([
    [{ ROLLCALL_HEARTBEAT_EVERY: '1s' }, 'registry.heartbeatEvery (1000ms) must be at least 2s'],
    [{ ROLLCALL_KEEP_LEFT_AGENTS: '0s' }, 'registry.keepLeft (0ms) must be at least 15m'],
    [{ ROLLCALL_CIRCUIT_COOL_DOWN: '0s' }, 'circuit.coolDown must be longer than 0s'],
    [
      { ROLLCALL_CIRCUIT_COOL_DOWN: '10m' },
      'circuit.longestCoolDown (300000ms) must not be shorter than circuit.coolDown',
    ],
    [{ ROLLCALL_CIRCUIT_PROBE: '0s' }, 'no caller can hold the probe'],
    [
      { ROLLCALL_CIRCUIT_BACK_OFF: '0.5' },
      'circuit.backOff (ROLLCALL_CIRCUIT_BACK_OFF): expected a number from 1 to 100',
    ],
    [{ ROLLCALL_FLAPPING_REUSE_BELOW: '3' }, 'agents are suppressed and listed again immediately'],
    [{ ROLLCALL_FLAPPING_HALF_LIFE: '0s' }, 'the penalty is always 0'],
    [{ ROLLCALL_FLAPPING_LONGEST: '1m' }, 'flapping.longest (60000ms) is too short'],
    [{ ROLLCALL_PROTECTION_PERCENT: '101' }, 'expected a whole number from 0 to 100'],
    [{ ROLLCALL_CAPABILITY_ALIASES: '{"a": "b", "b": "a"}' }, 'is a cycle'],
    [{ ROLLCALL_CAPABILITY_ALIASES: '["a"]' }, 'expected pairs of text'],
    [{ ROLLCALL_CAPABILITY_ALIASES: 'coding=code' }, 'expected pairs of text'],
  ])('S3.12 rejects %j with a message that names the setting', (environment, message) => {
    const errors = errorsOf(environment);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(message);
  });
});
