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

  it('the runs of one agent use at most half of the places of a replica, and at least one', () => {
    const perAgent = (max: string): unknown =>
      runtimeOptions(loadConfig({ ROLLCALL_RUNS_MAX: max }, NO_FOLDER)).runs?.maxRunningPerAgent;
    expect(['', '0', '1', '2', '5', '200'].map(perAgent)).toEqual([32, 1, 1, 1, 3, 100]);
  });

  it('http_fetch is off by default, and has a mode with or without hosts', () => {
    const httpFetch = (value: string): unknown =>
      runtimeOptions(loadConfig({ ROLLCALL_TOOLS_HTTP_FETCH: value }, NO_FOLDER)).tools?.httpFetch;
    expect(httpFetch('')).toMatchObject({ mode: 'off', hosts: [] });
    expect(httpFetch('write')).toMatchObject({ mode: 'write', hosts: [] });
    expect(httpFetch('read:a.example, *.b.example')).toMatchObject({
      mode: 'read',
      hosts: ['a.example', '*.b.example'],
    });
  });

  it.each([
    ['ROLLCALL_RUNTIME_RUN_TIMEOUT', '0s'],
    ['ROLLCALL_RUNTIME_RUN_TIMEOUT', '25d'],
    ['ROLLCALL_RUNS_MAX', '-1'],
    ['ROLLCALL_TOOLS_HTTP_FETCH', 'on'],
    ['ROLLCALL_TOOLS_HTTP_FETCH', 'read:'],
    ['ROLLCALL_TOOLS_HTTP_FETCH', 'read:a.example:443'],
    ['ROLLCALL_TOOLS_HTTP_FETCH', 'read:a.example,'],
    ['ROLLCALL_TOOLS_HTTP_FETCH', 'off:a.example'],
    ['ROLLCALL_RUNTIME_INHERIT_TOOLS', 'all'],
  ])('%s=%s is rejected', (name, value) => {
    expect(() => loadConfig({ [name]: value }, NO_FOLDER)).toThrow(ConfigError);
  });
});
