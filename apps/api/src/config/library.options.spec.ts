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
import type { ConstantChanges } from './config.constants.js';
import { registryOptions } from './library.options.js';

const DAY = 86_400_000;

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
    const { directory, follower, retention, usage, ...policies } = registryOptions(loadConfig({}, '/nowhere'));
    expect(usage).toEqual({ sources: [], refreshEveryMs: 300_000 });
    expect(retention).toEqual({
      leftAgentsMs: 7 * DAY,
      reservationsMs: 7 * DAY,
      linesMs: 400 * DAY,
      runsMs: 90 * DAY,
      contractsMs: 30 * DAY,
    });
    expect(follower?.staleMs).toBe(DEFAULT_FOLLOWER_OPTIONS.staleMs);
    expect(policies).toEqual({
      lease: DEFAULT_LEASE_POLICY,
      protection: DEFAULT_PROTECTION_POLICY,
      circuit: DEFAULT_CIRCUIT_POLICY,
      flap: DEFAULT_FLAP_POLICY,
      budgets: {
        low: DEFAULT_LOW_BUDGET,
        limits: DEFAULT_SPENDING_LIMITS,
        runDepth: 34,
        heldQuota: { limit: 10_000, setting: 'quotas.reservations (ROLLCALL_QUOTAS)' },
        share: { limit: 25, setting: 'quotas.budgetShare (ROLLCALL_QUOTAS)' },
      },
      contracts: { quota: { limit: 1_000, setting: 'quotas.contracts (ROLLCALL_QUOTAS)' } },
      agentQuota: { limit: 10_000, setting: 'quotas.agents (ROLLCALL_QUOTAS)' },
    });
    expect(directory?.aliases?.resolve('coding')).toBe('coding');
  });

  it('S3.8 S3.12 B5 the policies have the values of the settings', () => {
    const constants: ConstantChanges = {
      circuit: { failuresToOpen: 3, coolDownMs: 2_000, backOff: 1.5, longestCoolDownMs: 60_000, probeMs: 5_000 },
      protection: { threshold: 0.5, fewest: 10, longestMs: 3_600_000, evictionsPerMinute: 6 },
      flapping: { suppressAt: 5_000, reuseBelow: 500, halfLifeMs: 30_000, longestMs: 300_000 },
      budgets: { low: { fraction: 0.25, tokens: 0 } },
    };
    const settings = { ROLLCALL_CAPABILITY_ALIASES: '{"coding": "code"}' };
    const { directory, ...policies } = registryOptions(loadConfig(settings, '/nowhere', constants));
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
    [{ ROLLCALL_CAPABILITY_ALIASES: '{"a": "b", "b": "a"}' }, 'is a cycle'],
    [{ ROLLCALL_CAPABILITY_ALIASES: '["a"]' }, 'expected pairs of text'],
    [{ ROLLCALL_CAPABILITY_ALIASES: 'coding=code' }, 'expected pairs of text'],
  ])('S3.12 rejects %j with a message that names the setting', (environment, message) => {
    const errors = errorsOf(environment);
    expect(errors).toHaveLength(1);
    expect(errors[0]).toContain(message);
  });
});
