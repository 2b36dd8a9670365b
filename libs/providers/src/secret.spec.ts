import { inspect } from 'node:util';
import { HttpAgentProvider } from './agents/http/http.agent-provider.js';
import { SubprocessAgentProvider } from './agents/subprocess/subprocess.agent-provider.js';
import { ClaudeSdkAgentProvider } from './agents/claude-sdk/claude-sdk.agent-provider.js';
import { ProviderError } from './errors.js';
import { VendorRegistry } from './models/vendor.registry.js';
import { redactDeep, Secret } from './secret.js';
import { localOutbound } from './testing/local-egress.js';

const KEY = 'sk-"quoted"/0123+456789=';
const secret = new Secret(KEY);
const secrets = (): Secret => new Secret('sk-plain-0123456789');

/** All the ways in which something is shown by accident. */
function shown(value: unknown): string {
  const deep = inspect(value, { depth: 8, showHidden: true });
  return [String(value), deep, JSON.stringify(value, safely())].join('\n');
}

function safely(): (key: string, value: unknown) => unknown {
  const seen = new Set();
  return (_key, value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return '(again)';
    seen.add(value);
    return value;
  };
}

describe('S1.10 a secret', () => {
  it('is not shown by printing, inspecting, serialising, cloning or spreading it', () => {
    for (const value of [
      secret,
      { secret },
      [secret],
      new Error('x', { cause: secret }),
      { ...secret },
      String(secret),
    ])
      expect(shown(value)).not.toContain('0123');
    expect(() => JSON.stringify(structuredClone({ secret }))).not.toThrow();
    expect(JSON.stringify(structuredClone({ secret }))).not.toContain('0123');
  });

  it.each([
    ['plain', KEY],
    ['as JSON', JSON.stringify(KEY)],
    ['in a URL', encodeURIComponent(KEY)],
    ['in base64', Buffer.from(KEY).toString('base64')],
    ['in the base64 of URLs', Buffer.from(KEY).toString('base64url')],
  ])('is taken out of what others say: %s', (_how, written) => {
    const hidden = secret.redactIn(`they said ${written}, twice: ${written}`);
    expect(hidden).not.toContain(written.slice(2, -3));
    expect(hidden.match(/\[secret\]/g)).toHaveLength(2);
  });

  it('is taken out of JSON without breaking it, whatever it looks like and however it is escaped', () => {
    const redact = (text: string): string => new Secret('1234').redactIn(text);
    const said = JSON.parse('{"n":1234,"k1234":["\\u0031234",{"x":"a 1234 b"}],"__proto__":{"y":null}}') as unknown;
    const hidden = '{"n":1234,"k[secret]":["[secret]",{"x":"a [secret] b"}],"__proto__":{"y":null}}';
    expect(JSON.stringify(redactDeep(said, redact))).toBe(hidden);
  });

  it.each(['key\n', ' key', 'key ', 'ke\ry', 'clé', '', 'a\u0000b'])('cannot be sent in a header as %j', (value) => {
    expect(new Secret(value).fitsHeader).toBe(false);
    expect([new Secret('a').fitsHeader, new Secret('a b').fitsHeader, secret.fitsHeader]).toEqual([true, true, true]);
  });

  it('is not shown by an agent that has one', async () => {
    const out = { ...localOutbound(), secrets };
    const programs = { cat: { command: '/bin/cat', secretEnv: ['KEY'] } };
    const query = (): object[] => [];
    const agents = [
      await new HttpAgentProvider(out).createAgent({
        name: 'a',
        settings: { url: 'https://a.example', credential: { env: 'KEY' } },
      }),
      await new SubprocessAgentProvider({ programs, secrets }).createAgent({ name: 'a', settings: { program: 'cat' } }),
      await new ClaudeSdkAgentProvider({ secrets, load: async () => ({ query }) }).createAgent({ name: 'a' }),
    ];
    for (const agent of agents) expect(shown(agent)).not.toContain('0123456789');
    await Promise.all([...agents.map(async (agent) => await agent.shutdown()), out.close()]);
  });

  it.each(['anthropic', 'openai', 'openai-compatible'])('is not shown by a model of %s', (vendor) => {
    const connection = { model: 'm', baseUrl: 'https://a.example/v1', key: secrets(), fetch };
    expect(shown(VendorRegistry.withAll().get(vendor).open(connection))).not.toContain('0123456789');
  });

  it('is not shown by an error about it', async () => {
    const out = localOutbound();
    const make = async (credential: object, value: string): Promise<unknown> =>
      await new HttpAgentProvider({ ...out, secrets: () => new Secret(value) })
        .createAgent({ name: 'a', settings: { url: 'https://a.example', credential } })
        .catch((error: unknown) => error);
    const cases = [
      [{ env: 'KEY' }, 'sk-broken-key\n'],
      [{ env: 'KEY', scheme: 'Bearer\r\nx-injected: 1' }, 'sk-broken-key'],
      [{ env: 'KEY', header: 'host' }, 'sk-broken-key'],
      [{ env: 'KEY', header: 'content-length' }, 'sk-broken-key'],
      [{ env: 'KEY', header: 'a\r\nb' }, 'sk-broken-key'],
    ] as const;
    for (const [credential, value] of cases) {
      const error = await make(credential, value);
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
      expect(shown(error)).not.toContain('sk-broken');
    }
    await out.close();
  });
});
