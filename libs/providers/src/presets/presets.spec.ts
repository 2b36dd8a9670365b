import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { textOf, userMessage } from '../models/message.js';
import { say } from '../models/scripted/script.js';
import { scripted } from '../models/scripted/scripted.model.js';
import { ScriptedVendor } from '../models/scripted/scripted.vendor.js';
import { VendorRegistry } from '../models/vendor.registry.js';
import { Secret } from '../secrets/secret.js';
import { ModelCatalog } from './model.catalog.js';
import { priceUsage, resolveModel } from './model.resolver.js';
import { type ModelsConfig, PresetCatalog } from './preset.catalog.js';
import { costOf, toMicroDollars } from './prices.js';

const CONFIG: ModelsConfig = {
  default: 'fast',
  presets: {
    fast: {
      vendor: 'anthropic',
      model: 'claude-haiku',
      settings: { temperature: 0.5, maxOutputTokens: 100 },
      contextWindow: 200_000,
      usdPerMillionTokens: { input: 1, output: 5, cacheRead: 0.1, cacheWrite: 1.25 },
    },
    local: { vendor: 'openai-compatible', model: 'llama', baseUrl: 'http://127.0.0.1:11434/v1' },
    demo: { vendor: 'scripted', model: 'echo' },
  },
  aliases: { haiku: 'fast', sonnet: 'fast' },
  vendors: { anthropic: { baseUrl: 'https://gateway.example/v1' } },
};
const presets = new PresetCatalog(CONFIG);

describe('S4.7 resolveModel', () => {
  it('resolves a name to a preset, and reports the rule', () => {
    expect(resolveModel('local', presets)).toMatchObject({
      rule: 'preset',
      preset: 'local',
      because: 'local is a preset.',
    });
  });

  it('resolves an alias to its preset', () => {
    const resolved = resolveModel('sonnet', presets);
    expect(resolved).toMatchObject({
      rule: 'alias',
      preset: 'fast',
      because: 'sonnet is an alias of the preset fast.',
    });
    expect(resolved.choice).toEqual(resolveModel('fast', presets).choice);
  });

  it.each([null, undefined])('resolves %s to the default preset', (missing) => {
    expect(resolveModel(missing, presets)).toMatchObject({ rule: 'default', preset: 'fast' });
  });

  it('resolves inherit to the model of the parent, through any number of generations', () => {
    const parent = resolveModel({ vendor: 'openai', model: 'gpt' }, presets);
    const child = resolveModel('inherit', presets, resolveModel('inherit', presets, parent));
    expect(child.choice).toEqual(parent.choice);
    expect(child).toMatchObject({ rule: 'inherit', because: expect.stringContaining('selects openai gpt directly') });
  });

  it('resolves inherit without a parent to the default preset, and reports the reason', () => {
    const resolved = resolveModel('inherit', presets);
    expect(resolved).toMatchObject({ rule: 'default', because: expect.stringContaining('there is no parent') });
  });

  it('takes the base URL and the key name of an inline choice from the configuration of the vendor', () => {
    expect(resolveModel({ vendor: 'anthropic', model: 'claude-x' }, presets).choice).toEqual({
      vendor: 'anthropic',
      model: 'claude-x',
      baseUrl: 'https://gateway.example/v1',
      keyEnv: 'ANTHROPIC_API_KEY',
      settings: {},
    });
  });

  it('lets an inline choice change a preset, and drops the prices and the context window if the model changes', () => {
    const warmer = resolveModel({ preset: 'haiku', settings: { temperature: 1 } }, presets);
    expect(warmer).toMatchObject({ rule: 'inline', preset: 'fast' });
    expect(warmer.choice).toMatchObject({ settings: { temperature: 1, maxOutputTokens: 100 }, contextWindow: 200_000 });
    const other = resolveModel({ preset: 'fast', model: 'claude-opus' }, presets).choice;
    expect(other).toMatchObject({ model: 'claude-opus', keyEnv: 'ANTHROPIC_API_KEY' });
    expect([other.prices, other.contextWindow]).toEqual([undefined, undefined]);
  });

  it.each([{ baseUrl: 'https://evil.example' }, { keyEnv: 'DATABASE_URL' }])(
    'rejects an inline choice with %o',
    (more) => {
      const inline = { vendor: 'anthropic', model: 'claude-x', ...more };
      expect(() => resolveModel(inline, presets)).toThrow(/inline model is not valid/);
    },
  );

  it('S4.7 sonnet, opus and haiku mean the default preset, unless the operator defines them', () => {
    expect(resolveModel('opus', presets)).toEqual({
      ...resolveModel(null, presets),
      rule: 'built-in-alias',
      because: `opus is a built-in alias, and the operator has not defined it, so the default preset ${presets.defaultName} is used.`,
    });
    expect(resolveModel('sonnet', presets).rule).toBe('alias');
    const own = { ...CONFIG, presets: { ...CONFIG.presets, opus: { vendor: 'scripted', model: 'own' } } };
    expect(resolveModel('opus', new PresetCatalog(own))).toMatchObject({ rule: 'preset', choice: { model: 'own' } });
  });

  it('rejects an unknown name and lists the known names', () => {
    expect(() => resolveModel('large', presets)).toThrow(/presets: demo, fast, local; aliases: haiku, sonnet/);
  });

  it('returns a complete choice or an error for every name', () => {
    const names = fc.oneof(fc.string(), fc.constantFrom('fast', 'haiku', 'inherit', '__proto__', 'constructor', null));
    fc.assert(
      fc.property(names, fc.boolean(), (name, withParent) => {
        const parent = withParent ? resolveModel('local', presets) : undefined;
        const known = ['fast', 'local', 'demo', 'haiku', 'sonnet', 'opus', 'inherit', null].includes(name);
        if (!known) return expect(() => resolveModel(name, presets, parent)).toThrow(/There is no model preset/);
        const { choice, rule, because } = resolveModel(name, presets, parent);
        expect([choice.vendor, choice.model, rule, because].every(Boolean)).toBe(true);
      }),
    );
  });
});

describe('S4.7 PresetCatalog', () => {
  it.each([
    [{ ...CONFIG, default: 'slow' }, /the preset slow does not exist/],
    [{ ...CONFIG, aliases: { opus: 'slow' } }, /aliases.opus: the preset slow does not exist/],
    [{ ...CONFIG, aliases: { local: 'fast' } }, /a preset has the same name/],
    [{ ...CONFIG, aliases: { inherit: 'fast' } }, /inherit is a reserved name/],
    [
      { ...CONFIG, presets: { fast: { vendor: 'x', model: 'y', keyEnv: 'sk-abc' } } },
      /name of an environment variable/,
    ],
    [
      { ...CONFIG, vendors: { x: { baseUrl: 'https://me:hunter22@example.com' } } },
      /must not contain a user or password/,
    ],
    [{ ...CONFIG, vendors: { x: { baseUrl: 'https://example.com/v1?key=hunter22' } } }, /must not contain a query/],
    [{ ...CONFIG, vendors: { x: { baseUrl: 'file:///etc/passwd' } } }, /baseUrl/],
  ])('rejects an invalid configuration with the reason: %#', (config, reason) => {
    expect(() => new PresetCatalog(config)).toThrow(reason);
  });

  it('lists the presets by name, with aliases, prices in micro-dollars and without keys', () => {
    const views = presets.list();
    expect(views.map((view) => [view.name, view.isDefault])).toEqual([
      ['demo', false],
      ['fast', true],
      ['local', false],
    ]);
    expect(views[1]).toMatchObject({
      aliases: ['haiku', 'sonnet'],
      keyEnv: 'ANTHROPIC_API_KEY',
      prices: { input: 1_000_000, output: 5_000_000, cacheRead: 100_000, cacheWrite: 1_250_000 },
    });
  });
});

describe('S4.7 the cost of a usage', () => {
  const prices = { input: 3_000_000, output: 15_000_000, cacheRead: 300_000, cacheWrite: 3_750_000 };

  it('counts cached tokens separately from other input', () => {
    const usage = { inputTokens: 142, outputTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 30 };
    expect(costOf(usage, prices)).toBe(Math.ceil(12 * 3 + 100 * 0.3 + 30 * 3.75 + 10 * 15));
  });

  it('the cost is undefined if a count is unknown', () => {
    expect(costOf({ inputTokens: 5 }, prices)).toBeUndefined();
    expect(costOf({}, prices)).toBeUndefined();
  });

  it('rounds the cost up to a whole micro-dollar', () => {
    const tokens = fc.integer({ min: 0, max: 1_000_000_000 });
    fc.assert(
      fc.property(tokens, tokens, fc.integer({ min: 0, max: 500 }), (inputTokens, outputTokens, cents) => {
        const price = toMicroDollars(cents / 100);
        const cost = costOf({ inputTokens, outputTokens }, { input: price, output: price }) ?? -1;
        const excess = BigInt(cost) * 1_000_000n - BigInt(inputTokens + outputTokens) * BigInt(price);
        expect(excess >= 0n && excess < 1_000_000n).toBe(true);
      }),
    );
  });
});

describe('S4.7 the price of a usage', () => {
  it('the price is the sum of the tokens at the prices of the preset or alias', () => {
    const usage = { inputTokens: 1_000, outputTokens: 200 };
    expect(priceUsage(usage, 'fast', presets)).toEqual({ tokens: 1_200, microUsd: 2_000 });
    expect(priceUsage(usage, 'haiku', presets)).toEqual(priceUsage(usage, 'fast', presets));
  });

  it('the price is null, not 0, without a model, without prices or without a count', () => {
    const usage = { inputTokens: 1_000, outputTokens: 200 };
    expect(priceUsage(usage, undefined, presets)).toEqual({ tokens: 1_200, microUsd: null });
    expect(priceUsage(usage, 'local', presets)).toEqual({ tokens: 1_200, microUsd: null });
    expect(priceUsage({ inputTokens: 1_000 }, 'fast', presets)).toEqual({ tokens: null, microUsd: null });
  });

  it('rejects a model that is neither a preset nor an alias', () => {
    expect(() => priceUsage({}, 'unknown', presets)).toThrow(expect.objectContaining({ code: 'MODEL_PRESET_UNKNOWN' }));
  });
});

describe('S4.7 ModelCatalog.open', () => {
  const KEY = 'sk-live-0123456789';
  const catalog = (secrets: Record<string, string>, scripts = new ScriptedVendor()): ModelCatalog =>
    new ModelCatalog({
      vendors: VendorRegistry.withAll(scripts),
      secrets: (name) => (secrets[name] ? new Secret(secrets[name]) : undefined),
      fetch: () => Promise.reject(new Error('not called')),
    });

  it('rejects a key that is not a valid header value before it sends a request', () => {
    const { choice } = resolveModel('fast', presets);
    const open = (): unknown => catalog({ ANTHROPIC_API_KEY: `${KEY}\n` }).open(choice);
    expect(open).toThrow(expect.objectContaining({ code: 'MODEL_KEY_REFUSED', fault: 'operator' }));
    expect(open).not.toThrow(KEY);
  });

  it('finds the key by its name, and the error for a missing key contains the name', () => {
    const { choice } = resolveModel('fast', presets);
    expect(catalog({ ANTHROPIC_API_KEY: KEY }).open(choice)).toMatchObject({
      vendor: 'anthropic',
      model: 'claude-haiku',
    });
    expect(() => catalog({}).open(choice)).toThrow(/Set ANTHROPIC_API_KEY/);
    expect(() => catalog({}).open({ ...choice, keyEnv: undefined })).toThrow(/Set keyEnv of the preset to the name/);
  });

  it('applies the settings of the choice, which a request can override', async () => {
    const model = scripted(say('ok'));
    const scripts = new ScriptedVendor({ mine: () => model });
    const choice = { vendor: 'scripted', model: 'mine', settings: { temperature: 0.5, seed: 1 } };
    const reply = await catalog({}, scripts)
      .open(choice)
      .complete({ messages: [userMessage('hi')], settings: { seed: 2 } });
    expect(textOf(reply.content)).toBe('ok');
    expect(model.calls[0]?.request.settings).toEqual({ temperature: 0.5, seed: 2 });
  });

  it('lists the known vendors if a vendor is unknown, and rejects a vendor that is already registered', () => {
    const unknown = { vendor: 'mistral', model: 'x', settings: {} };
    expect(() => catalog({}).open(unknown)).toThrow(
      /Known: anthropic, azure, bedrock, google, ollama, openai, openai-compatible, openrouter, scripted, vllm/,
    );
    expect(() => VendorRegistry.withAll().register(new ScriptedVendor())).toThrow(
      /scripted is already used by another model vendor/,
    );
  });

  it('does not reveal a key', () => {
    const secret = new Secret(KEY);
    expect([String(secret), JSON.stringify({ secret }), inspect({ secret })].join()).not.toContain(KEY);
    expect(secret.redactIn(`bad key ${KEY}!`)).toBe('bad key [secret]!');
  });
});
