import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, loadConfig, unknownVariables } from './config.loader.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'rollcall-config-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);

function faultsOf(environment: Record<string, string>): string[] {
  try {
    loadConfig(environment, folder);
  } catch (error) {
    if (error instanceof ConfigError) return error.errors;
    throw error;
  }
  return [];
}

describe('configuration', () => {
  it('has a default for everything', () => {
    expect(loadConfig({}, folder)).toMatchObject({
      http: { host: '127.0.0.1', port: 8080, bodyLimit: 262_144 },
      data: { dir: '.rollcall' },
      database: { operationTimeout: 1_500 },
    });
  });

  it('layers: defaults < rollcall.yaml < .env < environment', () => {
    write('rollcall.yaml', 'http: { host: 10.0.0.1, port: 1001, rateLimit: 7 }\nlog: { level: warn }\n');
    write('.env', 'PORT=1002\nLOG_LEVEL=error\n');
    expect(loadConfig({ PORT: '1003' }, folder)).toMatchObject({
      http: { host: '10.0.0.1', port: 1003, rateLimit: 7, bodyLimit: 262_144 },
      log: { level: 'error' },
    });
  });

  it('reads the file that ROLLCALL_CONFIG names, and says when it is not there', () => {
    write('other.yaml', 'http: { port: 1 }');
    expect(loadConfig({ ROLLCALL_CONFIG: 'other.yaml' }, folder).http.port).toBe(1);
    expect(faultsOf({ ROLLCALL_CONFIG: 'missing.yaml' })[0]).toContain('missing.yaml');
  });

  it('lists every fault at once, with the name of the setting and what would be right', () => {
    write('rollcall.yaml', 'http: { prot: 1 }\nlogs: {}\nshutdown: soon\n');
    const faults = faultsOf({
      PORT: '99999',
      LOG_LEVEL: 'loud',
      ROLLCALL_BODY_LIMIT: 'huge',
      ROLLCALL_TRUSTED_PROXIES: '10.0.0.0/99',
    });
    expect(faults).toEqual(
      expect.arrayContaining([
        'http.port (PORT): expected a whole number from 0 to 65535, got "99999"',
        expect.stringMatching(/^log\.level \(LOG_LEVEL\): expected one of trace, .*, got "loud"$/),
        'http.bodyLimit (ROLLCALL_BODY_LIMIT): expected a size such as 256KB or 1MB, got "huge"',
        expect.stringMatching(/^http\.trustedProxies .*, got "10\.0\.0\.0\/99"$/),
        expect.stringMatching(/^http\.prot is not a setting; known here: host, port, /),
        expect.stringMatching(/^logs is not a setting; known here: http, database, /),
        expect.stringMatching(/^shutdown: expected a group of settings; known here: drainDelay, timeout$/),
      ]),
    );
    expect(faults).toHaveLength(7);
  });

  it('tells where YAML cannot be read', () => {
    write('rollcall.yaml', 'http:\n  port: [1\n');
    expect(faultsOf({})[0]).toMatch(/rollcall\.yaml: .*line \d/s);
    write('rollcall.yaml', '- just\n- a list\n');
    expect(faultsOf({})[0]).toContain('expected settings');
  });

  it.each(['rollcall.yaml', '.env'])('says so when %s is a folder', (name) => {
    mkdirSync(join(folder, name));
    expect(faultsOf({})).toEqual([`${join(folder, name)} is a folder, not a file`]);
  });

  it('tells of aliases that lead nowhere or to too much', () => {
    write('rollcall.yaml', 'http: *nowhere\n');
    expect(faultsOf({})[0]).toMatch(/rollcall\.yaml: .*nowhere/);
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
    for (const [from, to] of ['ab', 'bc', 'cd']) bomb.push(`${to}: &${to} [${Array(10).fill(`*${from}`).join(',')}]`);
    write('rollcall.yaml', bomb.join('\n'));
    expect(faultsOf({})[0]).toMatch(/rollcall\.yaml: .*alias/);
  });

  it('tells what does not fit together along with what is wrong by itself', () => {
    const faults = faultsOf({ PORT: 'x', ROLLCALL_DATABASE_TIMEOUT: '20s' });
    expect(faults[0]).toContain('http.port');
    expect(faults[1]).toContain('must be shorter than http.handlerTimeout');
    expect(faultsOf({ ROLLCALL_HANDLER_TIMEOUT: 'x', ROLLCALL_DATABASE_TIMEOUT: '20s' })).toHaveLength(1);
  });

  it('checks how settings fit together, and teaches why', () => {
    expect(faultsOf({ ROLLCALL_DATABASE_TIMEOUT: '20s' })[0]).toContain('must be shorter than http.handlerTimeout');
    expect(faultsOf({ ROLLCALL_HANDLER_TIMEOUT: '40s' })[0]).toContain('must not be longer than http.requestTimeout');
    expect(faultsOf({ ROLLCALL_OIDC_ISSUER: 'https://id.example' })[0]).toContain('ROLLCALL_OIDC_AUDIENCE');
    expect(faultsOf({ ROLLCALL_OIDC_AUDIENCE: 'rollcall' })[0]).toContain('ROLLCALL_OIDC_ISSUER');
  });

  it('A16 refuses an issuer over plain http, unless it is on this machine or the operator allows it', () => {
    const issuer = (url: string, plain = ''): Record<string, string> => ({
      ROLLCALL_OIDC_ISSUER: url,
      ROLLCALL_OIDC_AUDIENCE: 'rollcall',
      ROLLCALL_OIDC_PLAIN_HTTP: plain,
    });
    for (const url of ['http://id.example', 'http://127.example', 'ftp://id.example'])
      expect(faultsOf(issuer(url))[0]).toContain('auth.oidcIssuer must begin with https');
    const keys = { ...issuer('https://id.example'), ROLLCALL_OIDC_JWKS_URI: 'http://id.example/jwks' };
    expect(faultsOf(keys)[0]).toContain('auth.oidcJwksUri must begin with https');
    for (const url of ['https://id.example', 'http://localhost:8081', 'http://127.0.0.1:8081', 'http://[::1]:8081'])
      expect(loadConfig(issuer(url), folder).auth.oidcIssuer).toBe(url);
    expect(loadConfig(issuer('http://id.internal', 'allow'), folder).auth.oidcIssuer).toBe('http://id.internal');
  });

  it('checks the models as a whole', () => {
    expect(faultsOf({ ROLLCALL_MODELS: '{' })[0]).toContain('models (ROLLCALL_MODELS): expected presets');
    expect(faultsOf({ ROLLCALL_MODELS: '{"default":"x"}' })[0]).toContain('models (ROLLCALL_MODELS): expected presets');
    const loose = { default: 'gone', presets: { demo: { vendor: 'scripted', model: 'echo' } } };
    expect(faultsOf({ ROLLCALL_MODELS: JSON.stringify(loose) })[0]).toContain('gone');
    const misspelt = { default: 'a', presets: { a: { vendor: 'antropic', model: 'm' } } };
    expect(faultsOf({ ROLLCALL_MODELS: JSON.stringify(misspelt) })[0]).toContain(
      'models.presets.a: there is no vendor antropic; known: anthropic, openai',
    );
    write('rollcall.yaml', 'models: { default: a, presets: { a: { vendor: scripted, model: echo } } }');
    expect(loadConfig({}, folder).models.default).toBe('a');
  });

  it('never repeats a secret', () => {
    const faults = faultsOf({ DATABASE_URL: 'mysql://root:hunter2@db/x', ROLLCALL_ADMIN_KEY: 'hunter2' });
    expect(faults).toHaveLength(2);
    expect(faults.join()).not.toContain('hunter2');
    expect(faults.join()).toContain('postgresql://user:password@host:5432/rollcall');
  });

  it('refuses a number without a unit where a duration is meant, and an algorithm that is not safe', () => {
    expect(faultsOf({ ROLLCALL_SHUTDOWN_TIMEOUT: '10' })[0]).toContain('expected a duration such as');
    expect(faultsOf({ ROLLCALL_OIDC_ALGORITHMS: 'HS256' })[0]).toContain('expected one or more of RS256');
  });

  it('counts an empty variable as not set, and cannot be changed once loaded', () => {
    const config = loadConfig({ PORT: '', DATABASE_URL: '' }, folder);
    expect(config.http.port).toBe(8080);
    expect(() => Object.assign(config.http, { port: 1 })).toThrow(TypeError);
  });

  it('notices variables that look meant for us', () => {
    expect(
      unknownVariables({ ROLLCALL_PROT: '1', ROLLCALL_RATE_LIMIT: '5', ROLLCALL_CONFIG: 'x', PATH: '/bin' }),
    ).toEqual(['ROLLCALL_PROT']);
  });
});
