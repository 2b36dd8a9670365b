import { ConfigError, loadConfig } from './config.loader.js';
import { runtimeOptions } from './library.options.js';

const NO_FOLDER = '/nonexistent';

describe('settings of runs and delegation', () => {
  it('S4.6 the settings of runs and delegation have the documented defaults', () => {
    expect(runtimeOptions(loadConfig({}, NO_FOLDER))).toMatchObject({
      execution: { timeoutMs: 600_000, retry: { maxAttempts: 3, maxDelayMs: 30_000 } },
      delegation: {
        maxDelegationDepth: 3,
        maxDelegationWidth: 8,
        maxDelegatedRuns: 50,
        childTimeoutMs: 600_000,
        inheritance: 'union',
      },
    });
  });

  it('B6 the contents of runs are kept by default, or removed after a duration', () => {
    const redactAfterMs = (value: string): unknown =>
      runtimeOptions(loadConfig({ ROLLCALL_RUNS_REDACT_AFTER: value }, NO_FOLDER)).runs?.redactAfterMs;
    expect(['', 'off', '0s', '24h'].map(redactAfterMs)).toEqual([null, null, 0, 86_400_000]);
    expect(() => redactAfterMs('never')).toThrow('off, or a duration');
  });

  it('S2.5 S2.6 S2.8 the settings of runs and delegation reach the runtime', () => {
    const environment = {
      ROLLCALL_RUNTIME_RUN_TIMEOUT: '1h',
      ROLLCALL_RUNTIME_INHERIT_TOOLS: 'intersection',
    };
    const constants = {
      modelAttempts: 1,
      modelRetryDelay: 5_000,
      delegation: { maxDepth: 0, maxWidth: 2, maxRuns: 4, childTimeout: 120_000 },
    };
    expect(runtimeOptions(loadConfig(environment, NO_FOLDER, { runtime: constants }))).toMatchObject({
      execution: { timeoutMs: 3_600_000, retry: { maxAttempts: 1, maxDelayMs: 5_000 } },
      delegation: {
        maxDelegationDepth: 0,
        maxDelegationWidth: 2,
        maxDelegatedRuns: 4,
        childTimeoutMs: 120_000,
        inheritance: 'intersection',
      },
    });
  });

  it.each([
    ['ROLLCALL_RUNTIME_RUN_TIMEOUT', '0s'],
    ['ROLLCALL_RUNTIME_RUN_TIMEOUT', '25d'],
    ['ROLLCALL_RUNS_MAX', '-1'],
    ['ROLLCALL_RUNS_MAX_PER_AGENT', '0'],
    ['ROLLCALL_RUNTIME_INHERIT_TOOLS', 'all'],
  ])('%s=%s is rejected', (name, value) => {
    expect(() => loadConfig({ [name]: value }, NO_FOLDER)).toThrow(ConfigError);
  });
});
