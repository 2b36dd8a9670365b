import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig, variableNames } from './config.loader.js';
import { unknownVariables } from './unknown.settings.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'rollcall-config-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

function errorsOf(environment: Record<string, string>): string[] {
  try {
    loadConfig(environment, folder);
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
  return [];
}

describe('configuration', () => {
  it('has a default for every setting', () => {
    expect(loadConfig({}, folder)).toMatchObject({
      http: { host: '127.0.0.1', port: 8080, bodyLimit: 262_144 },
      data: { dir: '.rollcall' },
      database: { operationTimeout: 1_500 },
    });
  });

  it('prefers the environment to .env, .env to rollcall.yaml, and rollcall.yaml to the defaults', () => {
    write('rollcall.yaml', 'http: { host: 10.0.0.1, port: 1001, rateLimit: 7 }\nlog: { level: warn }\n');
    write('.env', 'PORT=1002\nLOG_LEVEL=error\n');
    expect(loadConfig({ PORT: '1003' }, folder)).toMatchObject({
      http: { host: '10.0.0.1', port: 1003, rateLimit: 7, bodyLimit: 262_144 },
      log: { level: 'error' },
    });
  });

  it('S0.7 S0.8 merges the agents of all sources by name and field', () => {
    write('rollcall.yaml', 'agents: { a: { description: A, maxIterations: 1, tools: [x] }, b: { description: B } }\n');
    write('.env', 'ROLLCALL_AGENTS={"a":{"maxIterations":2,"tools":["y"]},"c":{"description":"C"}}\n');
    const environment = { ROLLCALL_AGENTS: '{"a":{"maxIterations":3}}', ROLLCALL_AGENT: '{"description":"D"}' };
    expect(loadConfig(environment, folder)).toMatchObject({
      agents: {
        a: { description: 'A', maxIterations: 3, tools: ['y'] },
        b: { description: 'B' },
        c: { description: 'C' },
      },
      agent: { description: 'D' },
    });
    expect(loadConfig({}, folder).agent).toBeUndefined();
    expect(errorsOf({ ROLLCALL_AGENTS: '{' })[0]).toContain('agents (ROLLCALL_AGENTS): expected definitions by name');
  });

  it('reads the file that ROLLCALL_CONFIG names, and reports a missing file', () => {
    write('other.yaml', 'http: { port: 1 }');
    expect(loadConfig({ ROLLCALL_CONFIG: 'other.yaml' }, folder).http.port).toBe(1);
    expect(errorsOf({ ROLLCALL_CONFIG: 'missing.yaml' })[0]).toContain('missing.yaml');
  });

  it('lists all errors together, with the setting and the expected value', () => {
    write('rollcall.yaml', 'http: { prot: 1 }\nlogs: {}\nshutdown: soon\n');
    const errors = errorsOf({
      PORT: '99999',
      LOG_LEVEL: 'loud',
      ROLLCALL_BODY_LIMIT: 'huge',
      ROLLCALL_TRUSTED_PROXIES: '10.0.0.0/99',
    });
    expect(errors).toEqual(
      expect.arrayContaining([
        'http.port (PORT): expected a whole number from 0 to 65535, got "99999"',
        expect.stringMatching(/^log\.level \(LOG_LEVEL\): expected one of trace, .*, got "loud"$/),
        'http.bodyLimit (ROLLCALL_BODY_LIMIT): expected a size such as 256KB or 1MB, got "huge"',
        expect.stringMatching(/^http\.trustedProxies .*, got "10\.0\.0\.0\/99"$/),
        expect.stringMatching(/^http\.prot is not a setting; known here: host, port, /),
        expect.stringMatching(/^logs is not a setting; known here: http, log, /),
        expect.stringMatching(/^shutdown: expected a group of settings; known here: drainDelay, timeout$/),
      ]),
    );
    expect(errors).toHaveLength(7);
  });

  it('reports the line of a YAML error', () => {
    write('rollcall.yaml', 'http:\n  port: [1\n');
    expect(errorsOf({})[0]).toMatch(/rollcall\.yaml: .*line \d/s);
    write('rollcall.yaml', '- just\n- a list\n');
    expect(errorsOf({})[0]).toContain('expected settings');
  });

  it.each(['rollcall.yaml', '.env'])('reports that %s is a folder', (name) => {
    mkdirSync(join(folder, name));
    expect(errorsOf({})).toEqual([`${join(folder, name)} is a folder, not a file`]);
  });

  it('reports YAML aliases that are undefined or expand too far', () => {
    write('rollcall.yaml', 'http: *nowhere\n');
    expect(errorsOf({})[0]).toMatch(/rollcall\.yaml: .*nowhere/);
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
    for (const [from, to] of ['ab', 'bc', 'cd']) bomb.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(',')}]`);
    write('rollcall.yaml', bomb.join('\n'));
    expect(errorsOf({})[0]).toMatch(/rollcall\.yaml: .*alias/);
  });

  it('reports conflicting settings together with invalid settings', () => {
    const errors = errorsOf({ PORT: 'x', ROLLCALL_DATABASE_TIMEOUT: '20s' });
    expect(errors[0]).toContain('http.port');
    expect(errors[1]).toContain('must be shorter than the time limit of a request');
    expect(errorsOf({ ROLLCALL_DATABASE_TIMEOUT: 'x', ROLLCALL_SHUTDOWN_TIMEOUT: '0s' })).toHaveLength(2);
    expect(errorsOf({ ROLLCALL_SHUTDOWN_TIMEOUT: 'x', ROLLCALL_DATABASE_TIMEOUT: '20s' })).toHaveLength(2);
    expect(errorsOf({ ROLLCALL_DATABASE_TIMEOUT: 'x' })).toHaveLength(1);
  });

  it('reports conflicting settings with the reason', () => {
    expect(errorsOf({ ROLLCALL_DATABASE_TIMEOUT: '20s' })[0]).toContain(
      'database.operationTimeout (20000ms) must be shorter than the time limit of a request (15000ms)',
    );
    expect(errorsOf({ ROLLCALL_DATABASE_TIMEOUT: '50ms' })[0]).toContain('must be at least 100ms');
    expect(errorsOf({ ROLLCALL_SHUTDOWN_TIMEOUT: '0s' })[0]).toContain('shutdown.timeout must be longer than 0s');
    expect(errorsOf({ ROLLCALL_OIDC_ISSUER: 'https://id.example' })[0]).toContain('ROLLCALL_OIDC_AUDIENCE');
    expect(errorsOf({ ROLLCALL_OIDC_AUDIENCE: 'rollcall' })[0]).toContain('ROLLCALL_OIDC_ISSUER');
  });

  it('A16 rejects an issuer with plain http unless it is on this machine or the operator allows it', () => {
    const issuer = (url: string, plain = ''): Record<string, string> => ({
      ROLLCALL_OIDC_ISSUER: url,
      ROLLCALL_OIDC_AUDIENCE: 'rollcall',
      ROLLCALL_OIDC_PLAIN_HTTP: plain,
    });
    for (const url of ['http://id.example', 'http://127.example', 'ftp://id.example'])
      expect(errorsOf(issuer(url))[0]).toContain('auth.oidcIssuer must begin with https');
    const keys = { ...issuer('https://id.example'), ROLLCALL_OIDC_JWKS_URI: 'http://id.example/jwks' };
    expect(errorsOf(keys)[0]).toContain('auth.oidcJwksUri must begin with https');
    for (const url of ['https://id.example', 'http://localhost:8081', 'http://127.0.0.1:8081', 'http://[::1]:8081'])
      expect(loadConfig(issuer(url), folder).auth.oidcIssuer).toBe(url);
    expect(loadConfig(issuer('http://id.internal', 'allow'), folder).auth.oidcIssuer).toBe('http://id.internal');
  });

  it('N-8 a wrong value in models names its field, and what was probably meant', () => {
    const preset = { vendr: 'scripted', model: 7, settings: { temprature: 1 }, usdPerMillionTokens: { input: -1 } };
    const errors = errorsOf({ ROLLCALL_MODELS: JSON.stringify({ defualt: 'a', presets: { a: preset } }) });
    const named = (text: string): unknown => expect.stringContaining(`models (ROLLCALL_MODELS): ${text}`) as unknown;
    expect(errors).toEqual(
      expect.arrayContaining([
        named('defualt is not a field; did you mean default?'),
        named('presets.a.vendr is not a field; did you mean vendor?'),
        named('presets.a.model: expected string, received number'),
        named('presets.a.settings.temprature is not a field; did you mean temperature?'),
        named('presets.a.usdPerMillionTokens.input: '),
      ]),
    );
    expect(errors.join()).not.toContain('"vendr"');
  });

  it('N-9 a key in the environment gives presets with prices, and an operator can replace the price list', () => {
    const { models, modelPrices } = loadConfig({ ANTHROPIC_API_KEY: 'sk-1' }, folder);
    expect(models.default).toBe('claude-sonnet-5-5');
    expect(models.presets).toHaveProperty(['demo', 'vendor'], 'scripted');
    expect(modelPrices.find({ vendor: 'anthropic', model: 'claude-sonnet-5-5' })?.prices.output).toBe(10_000_000);
    const list = { date: '2027-01-02', models: { 'anthropic/claude-next': { input: 1, output: 2 } } };
    write('prices.json', JSON.stringify(list));
    const own = { ANTHROPIC_API_KEY: 'sk-1', ROLLCALL_MODEL_PRICES: join(folder, 'prices.json') };
    expect(Object.keys(loadConfig(own, folder).models.presets)).toEqual(['demo', 'claude-next', 'claude-sonnet-5-5']);
    write('prices.json', JSON.stringify({ ...list, date: 'yesterday' }));
    expect(errorsOf(own)[0]).toContain('prices.json is not a price list');
    expect(errorsOf({ ROLLCALL_MODEL_PRICES: '/nowhere.json' })[0]).toContain('cannot be read (ENOENT)');
    expect(loadConfig({}, folder).models.default).toBe('demo');
  });

  it('validates the model presets', () => {
    expect(errorsOf({ ROLLCALL_MODELS: '{' })[0]).toContain('models (ROLLCALL_MODELS): expected presets');
    expect(errorsOf({ ROLLCALL_MODELS: '{"default":"x"}' })[0]).toContain(
      'models (ROLLCALL_MODELS): presets: expected',
    );
    const withoutDefault = { default: 'gone', presets: { demo: { vendor: 'scripted', model: 'echo' } } };
    expect(errorsOf({ ROLLCALL_MODELS: JSON.stringify(withoutDefault) })[0]).toContain('gone');
    const misspelt = { default: 'a', presets: { a: { vendor: 'antropic', model: 'm' } } };
    expect(errorsOf({ ROLLCALL_MODELS: JSON.stringify(misspelt) })[0]).toContain(
      'models.presets.a: there is no vendor antropic; did you mean anthropic?; known: anthropic, ',
    );
    write('rollcall.yaml', 'models: { default: a, presets: { a: { vendor: scripted, model: echo } } }');
    expect(loadConfig({}, folder).models.default).toBe('a');
  });

  it('does not repeat a secret in an error', () => {
    const errors = errorsOf({ DATABASE_URL: 'mysql://root:hunter2@db/x', ROLLCALL_ADMIN_KEY: 'hunter2' });
    expect(errors).toHaveLength(2);
    expect(errors.join()).not.toContain('hunter2');
    expect(errors.join()).toContain('postgresql://user:password@host:5432/rollcall');
  });

  it('rejects a duration without a unit, and an unsafe signature algorithm', () => {
    expect(errorsOf({ ROLLCALL_SHUTDOWN_TIMEOUT: '10' })[0]).toContain('expected a duration such as');
    expect(loadConfig({ ROLLCALL_OIDC_ALGORITHMS: 'HS256' }, folder).auth.oidcAlgorithms).not.toContain('HS256');
  });

  it('treats an empty variable as not set, and returns an immutable configuration', () => {
    const config = loadConfig({ PORT: '', DATABASE_URL: '' }, folder);
    expect(config.http.port).toBe(8080);
    expect(() => Object.assign(config.http, { port: 1 })).toThrow(TypeError);
  });

  it('reports unknown variables with the prefix ROLLCALL_', () => {
    write('.env', 'ROLLCALL_PROT=1\nROLLCALL_EMPTY=\nOTHER=1\n');
    const names = variableNames(
      { ROLLCALL_RATE_LIMIT: '5', ROLLCALL_CONFIG: 'x', ROLLCALL_URL: 'x', PATH: '/bin' },
      folder,
    );
    expect(unknownVariables(names).map(({ name }) => name)).toEqual(['ROLLCALL_PROT']);
  });

  it('the warning about an unknown variable suggests the setting with the most similar name', () => {
    const warningOf = (name: string): string | undefined => unknownVariables([name])[0]?.warning;
    expect(warningOf('ROLLCALL_DATABSE_TIMEOUT')).toBe(
      'ROLLCALL_DATABSE_TIMEOUT is not a setting of Rollcall; did you mean ROLLCALL_DATABASE_TIMEOUT?',
    );
    expect(warningOf('ROLLCALL_RATELIMIT')).toContain('did you mean ROLLCALL_RATE_LIMIT?');
    expect(warningOf('ROLLCALL_EGERSS_ALLOW')).toContain('did you mean ROLLCALL_EGRESS_ALLOW?');
    expect(warningOf('ROLLCALL_PORT')).toContain('did you mean PORT?');
    expect(warningOf('ROLLCALL_SOMETHING_ELSE')).toBe('ROLLCALL_SOMETHING_ELSE is not a setting of Rollcall');
  });

  it('a setting that became a constant is reported as removed, in the environment and in rollcall.yaml', () => {
    const removed = 'is no longer a setting: its value is fixed. Remove it (see CHANGELOG.md)';
    expect(unknownVariables(['ROLLCALL_HANDLER_TIMEOUT'])).toEqual([
      { name: 'ROLLCALL_HANDLER_TIMEOUT', warning: `ROLLCALL_HANDLER_TIMEOUT ${removed}` },
    ]);
    expect(errorsOf({ ROLLCALL_HANDLER_TIMEOUT: '1s' })).toEqual([]);
    write('rollcall.yaml', 'http: { handlerTimeout: 1s }\n');
    expect(errorsOf({})).toEqual([`http.handlerTimeout ${removed}`]);
    write('rollcall.yaml', 'circuit: { coolDown: 1s }\n');
    expect(errorsOf({})).toEqual([`circuit ${removed}`]);
  });

  it('the quotas are one setting, and a quota that is not named keeps its default', () => {
    const defaults = loadConfig({}, folder).quotas;
    expect(defaults).toEqual({
      agents: 10_000,
      reservations: 10_000,
      webhooks: 100,
      contracts: 1_000,
      queuedRuns: 2_000,
      queuedRunsOfNamespace: 10_000,
      budgetShare: 25,
      pushConfigs: 1_000,
      definitions: 10_000,
      kilobytesPerMinute: 60_000,
      kilobytesPerMinuteOfNamespace: 300_000,
    });
    const changed = loadConfig({ ROLLCALL_QUOTAS: 'agents=5, webhooks = 0' }, folder).quotas;
    expect(changed).toEqual({ ...defaults, agents: 5, webhooks: 0 });
    write('rollcall.yaml', 'quotas: { contracts: 7 }\n');
    expect(loadConfig({}, folder).quotas).toEqual({ ...defaults, contracts: 7 });
    write('.env', 'ROLLCALL_QUOTAS=agents=1,webhooks=1\n');
    const ofAllSources = loadConfig({ ROLLCALL_QUOTAS: 'agents=2' }, folder).quotas;
    expect(ofAllSources).toEqual({ ...defaults, agents: 2, webhooks: 1, contracts: 7 });
    rmSync(join(folder, '.env'));
    const expected =
      '(ROLLCALL_QUOTAS): expected names with whole numbers up to 10000000, each name once, such as agents=10000,webhooks=100';
    for (const wrong of ['agents', 'agents=', '=5', '{"agents":1', 'agents=1,agents=2'])
      expect(errorsOf({ ROLLCALL_QUOTAS: wrong })).toEqual([`quotas ${expected}, got ${JSON.stringify(wrong)}`]);
    for (const wrong of ['-1', '1.5', '10000001', '9'.repeat(20), 'x'])
      expect(errorsOf({ ROLLCALL_QUOTAS: `agents=${wrong}` })).toEqual([`quotas.agents ${expected}, got "${wrong}"`]);
    expect(errorsOf({ ROLLCALL_QUOTAS: 'agents=x', ROLLCALL_HEARTBEAT_EVERY: '1s' })).toHaveLength(2);
    expect(errorsOf({ ROLLCALL_QUOTAS: 'agent=1,reservations=2' })).toEqual([
      'quotas (ROLLCALL_QUOTAS): there is no agent; did you mean agents?',
    ]);
    write('rollcall.yaml', 'quotas: { webhook: 7 }\n');
    expect(errorsOf({})).toEqual(['quotas (ROLLCALL_QUOTAS): there is no webhook; did you mean webhooks?']);
  });

  it('the hosts of MCP are host names in any case; a URL, a port or a wildcard is an error', () => {
    const hosts = (text: string): string[] => loadConfig({ ROLLCALL_MCP_ALLOWED_HOSTS: text }, folder).mcp.allowedHosts;
    expect(hosts('App.Example.com, [::1]')).toEqual(['app.example.com', '[::1]']);
    for (const wrong of ['https://app.example.com', 'app.example.com:8443', '*.example.com'])
      expect(errorsOf({ ROLLCALL_MCP_ALLOWED_HOSTS: wrong })[0]).toContain(
        'expected host names without scheme and port',
      );
  });

  it('a setting that another one replaces is reported with the new setting', () => {
    const message =
      'ROLLCALL_QUOTA_AGENTS is no longer a setting: use quotas (ROLLCALL_QUOTAS) instead (see CHANGELOG.md)';
    expect(errorsOf({ ROLLCALL_QUOTA_AGENTS: '5' })).toEqual([message]);
    expect(errorsOf({ ROLLCALL_QUOTA_AGENTS: '5', PORT: 'x' })).toEqual([
      message,
      expect.stringContaining('http.port'),
    ]);
    expect(errorsOf({ ROLLCALL_QUOTA_AGENTS: '' })).toEqual([]);
    expect(unknownVariables(['ROLLCALL_QUOTA_AGENTS'])[0]?.warning).toBe(message);
    expect(errorsOf({ ROLLCALL_TOOLS_HTTP_FETCH: 'read', ROLLCALL_TOOLS_HTTP_FETCH_HOSTS: 'a.example' })[0]).toContain(
      'use runtime.tools.httpFetch (ROLLCALL_TOOLS_HTTP_FETCH) instead',
    );
    write('rollcall.yaml', 'runtime: { runs: { maxQueued: 1 } }\n');
    expect(errorsOf({})[0]).toContain('runtime.runs.maxQueued is no longer a setting: use quotas (ROLLCALL_QUOTAS)');
  });

  it('a test can start the application with other constants; settings do not change them', () => {
    const config = loadConfig({ ROLLCALL_EVENTS_KEEP: '1d' }, folder, { events: { slowAfter: 5 } });
    expect(config.events).toEqual({ keep: 86_400_000, keepCount: 1_000_000, buffer: 1_048_576, slowAfter: 5 });
    expect(loadConfig({}, folder).events.slowAfter).toBe(10_000);
  });

  it('S-11 reports every program whose user is missing or cannot be used', () => {
    const programs = {
      a: { command: '/bin/a' },
      b: { command: '/bin/b', user: 'same' },
      c: { command: '/bin/c', user: 'no-such-user' },
    };
    const errors = errorsOf({ ROLLCALL_PROGRAMS: JSON.stringify(programs) });
    const isRoot = process.getuid?.() === 0;
    expect(errors).toEqual([
      ...(isRoot ? [expect.stringContaining('providers.programs.a.user (ROLLCALL_PROGRAMS): ') as string] : []),
      expect.stringContaining('providers.programs.c.user (ROLLCALL_PROGRAMS): ') as string,
    ]);
    if (isRoot) expect(errors[0]).toContain('Rollcall runs as root');
  });

  it('S-11 reports a user of Claude Code that is missing or cannot be used', () => {
    const errors = errorsOf({ ROLLCALL_CLAUDE: '{"tools":["Read"],"user":"no-such-user"}' });
    expect(errors).toEqual([expect.stringContaining('providers.claude.user (ROLLCALL_CLAUDE): ')]);
    const missing = errorsOf({ ROLLCALL_CLAUDE: '{"tools":["Read"]}' });
    expect(missing).toHaveLength(process.getuid?.() === 0 ? 1 : 0);
    expect(errorsOf({ ROLLCALL_CLAUDE: '{"tools":["Read"],"user":"same"}' })).toEqual([]);
  });
});
