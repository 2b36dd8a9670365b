import { inspect } from 'node:util';
import { ClaudeSdkAgentProvider } from '../agents/claude-sdk/claude-sdk.agent-provider.js';
import { HttpAgentProvider } from '../agents/http/http.agent-provider.js';
import { SubprocessAgentProvider } from '../agents/subprocess/subprocess.agent-provider.js';
import { ProviderError } from '../errors.js';
import { VendorRegistry } from '../models/vendor.registry.js';
import { localOutbound } from '../testing/local-egress.js';
import { redactDeep, Secret } from './secret.js';

const KEY = 'sk-"quoted"/0123+456789=';
const secret = new Secret(KEY);
const secrets = (): Secret => new Secret('sk-plain-0123456789');

/** Returns the value in every form in which it might be printed by accident. */
function printed(value: unknown): string {
  const deep = inspect(value, { depth: 8, showHidden: true });
  return [String(value), deep, JSON.stringify(value, withoutCycles())].join('\n');
}

function withoutCycles(): (key: string, value: unknown) => unknown {
  const seen = new Set();
  return (_key, value) => {
    if (typeof value !== 'object' || value === null) return value;
    if (seen.has(value)) return '(seen before)';
    seen.add(value);
    return value;
  };
}

describe('S1.10 a secret', () => {
  it('printing, inspecting, serialising, cloning or spreading a secret does not reveal it', () => {
    for (const value of [
      secret,
      { secret },
      [secret],
      new Error('x', { cause: secret }),
      { ...secret },
      String(secret),
    ])
      expect(printed(value)).not.toContain('0123');
    expect(() => JSON.stringify(structuredClone({ secret }))).not.toThrow();
    expect(JSON.stringify(structuredClone({ secret }))).not.toContain('0123');
  });

  it.each([
    ['as it is', KEY],
    ['as JSON', JSON.stringify(KEY)],
    ['in a URL', encodeURIComponent(KEY)],
    ['in base64', Buffer.from(KEY).toString('base64')],
    ['in base64url', Buffer.from(KEY).toString('base64url')],
  ])('redacts a secret in text: %s', (_format, encoded) => {
    const redacted = secret.redactIn(`received ${encoded} and again ${encoded}`);
    expect(redacted).not.toContain(encoded.slice(2, -3));
    expect(redacted.match(/\[secret\]/g)).toHaveLength(2);
  });

  it('redacts a secret in the property names and strings of JSON, even if it is escaped, but does not change numbers', () => {
    const redact = (text: string): string => new Secret('1234').redactIn(text);
    const received = JSON.parse('{"n":1234,"k1234":["\\u0031234",{"x":"a 1234 b"}],"__proto__":{"y":null}}') as unknown;
    const redacted = '{"n":1234,"k[secret]":["[secret]",{"x":"a [secret] b"}],"__proto__":{"y":null}}';
    expect(JSON.stringify(redactDeep(received, redact))).toBe(redacted);
  });

  it.each(['key\n', ' key', 'key ', 'ke\ry', 'clé', '', 'a\u0000b'])(
    'the secret %j does not fit into a header',
    (value) => {
      expect(new Secret(value).fitsHeader).toBe(false);
      expect([new Secret('a').fitsHeader, new Secret('a b').fitsHeader, secret.fitsHeader]).toEqual([true, true, true]);
    },
  );

  it('an agent does not reveal its secret', async () => {
    const out = { ...localOutbound(), secrets };
    const programs = { cat: { command: '/bin/cat', user: 'same', secretEnv: ['KEY'] } };
    const query = (): object[] => [];
    const agents = [
      await new HttpAgentProvider(out).createAgent({
        name: 'a',
        settings: { url: 'https://a.example', credential: { env: 'KEY' } },
      }),
      await new SubprocessAgentProvider({ programs, secrets }).createAgent({ name: 'a', settings: { program: 'cat' } }),
      await new ClaudeSdkAgentProvider({ secrets, load: async () => ({ query }), user: 'same' }).createAgent({
        name: 'a',
      }),
    ];
    for (const agent of agents) expect(printed(agent)).not.toContain('0123456789');
    await Promise.all([...agents.map(async (agent) => await agent.shutdown()), out.close()]);
  });

  it.each(['anthropic', 'openai', 'openai-compatible'])('a model of %s does not reveal its secret', (vendor) => {
    const connection = { model: 'm', baseUrl: 'https://a.example/v1', key: secrets(), fetch };
    expect(printed(VendorRegistry.withAll().get(vendor).open(connection))).not.toContain('0123456789');
  });

  it('an error about a secret does not reveal it', async () => {
    const out = localOutbound();
    const create = async (credential: object, value: string): Promise<unknown> =>
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
      const error = await create(credential, value);
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
      expect(printed(error)).not.toContain('sk-broken');
    }
    await out.close();
  });
});
