import { inspect } from 'node:util';
import * as fc from 'fast-check';
import { textOf, userMessage } from '../models/message.js';
import { say } from '../models/scripted/script.js';
import { scripted } from '../models/scripted/scripted.model.js';
import { ScriptedVendor } from '../models/scripted/scripted.vendor.js';
import { VendorRegistry } from '../models/vendor.registry.js';
import { Secret } from '../secret.js';
import { ModelCatalog } from './model.catalog.js';
import { resolveModel } from './model.resolver.js';
import { PresetCatalog } from './preset.catalog.js';
import type { ModelsConfig } from './preset.js';
import { costOf, toMicroDollars } from './prices.js';
import { priceUsage } from './usage.price.js';

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
const book = new PresetCatalog(CONFIG);

describe('S4.7 which model is meant', () => {
  it('a name is a preset, and the answer says so', () => {
    expect(resolveModel('local', book)).toMatchObject({
      rule: 'preset',
      preset: 'local',
      because: 'local is a preset.',
    });
  });

  it('an alias leads to its preset', () => {
    const found = resolveModel('sonnet', book);
    expect(found).toMatchObject({ rule: 'alias', preset: 'fast', because: 'sonnet is an alias of the preset fast.' });
    expect(found.choice).toEqual(resolveModel('fast', book).choice);
  });

  it.each([null, undefined])('%s is the default preset', (nothing) => {
    expect(resolveModel(nothing, book)).toMatchObject({ rule: 'default', preset: 'fast' });
  });

  it('inherit is what the parent was given, over any number of generations', () => {
    const parent = resolveModel({ vendor: 'openai', model: 'gpt' }, book);
    const child = resolveModel('inherit', book, resolveModel('inherit', book, parent));
    expect(child.choice).toEqual(parent.choice);
    expect(child).toMatchObject({ rule: 'inherit', because: expect.stringContaining('selects openai gpt directly') });
  });

  it('inherit without a parent is the default preset, and the answer says why', () => {
    const found = resolveModel('inherit', book);
    expect(found).toMatchObject({ rule: 'default', because: expect.stringContaining('there is no parent') });
  });

  it('an inline choice takes address and key name of its vendor from the operator', () => {
    expect(resolveModel({ vendor: 'anthropic', model: 'claude-x' }, book).choice).toEqual({
      vendor: 'anthropic',
      model: 'claude-x',
      baseUrl: 'https://gateway.example/v1',
      keyEnv: 'ANTHROPIC_API_KEY',
      settings: {},
    });
  });

  it('an inline choice may change a preset; of another model the price is not known', () => {
    const warm = resolveModel({ preset: 'haiku', settings: { temperature: 1 } }, book);
    expect(warm).toMatchObject({ rule: 'inline', preset: 'fast' });
    expect(warm.choice).toMatchObject({ settings: { temperature: 1, maxOutputTokens: 100 }, contextWindow: 200_000 });
    const other = resolveModel({ preset: 'fast', model: 'claude-opus' }, book).choice;
    expect(other).toMatchObject({ model: 'claude-opus', keyEnv: 'ANTHROPIC_API_KEY' });
    expect([other.prices, other.contextWindow]).toEqual([undefined, undefined]);
  });

  it.each([{ baseUrl: 'https://evil.example' }, { keyEnv: 'DATABASE_URL' }])(
    'an inline choice cannot say %o',
    (more) => {
      const wanted = { vendor: 'anthropic', model: 'claude-x', ...more };
      expect(() => resolveModel(wanted, book)).toThrow(/inline model is not valid/);
    },
  );

  it('an unknown name is answered with the known ones', () => {
    expect(() => resolveModel('opus', book)).toThrow(/presets: demo, fast, local; aliases: haiku, sonnet/);
  });

  it('answers every name with a complete choice or an error, never with something else', () => {
    const wanted = fc.oneof(fc.string(), fc.constantFrom('fast', 'haiku', 'inherit', '__proto__', 'constructor', null));
    fc.assert(
      fc.property(wanted, fc.boolean(), (name, withParent) => {
        const parent = withParent ? resolveModel('local', book) : undefined;
        const known = ['fast', 'local', 'demo', 'haiku', 'sonnet', 'inherit', null].includes(name);
        if (!known) return expect(() => resolveModel(name, book, parent)).toThrow(/There is no model preset/);
        const { choice, rule, because } = resolveModel(name, book, parent);
        expect([choice.vendor, choice.model, rule, because].every(Boolean)).toBe(true);
      }),
    );
  });
});

describe('S4.7 the presets of an installation', () => {
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
  ])('are refused with the reason: %#', (config, why) => {
    expect(() => new PresetCatalog(config)).toThrow(why);
  });

  it('are listed by name with their aliases, prices in micro-dollars, and no key', () => {
    const views = book.list();
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

describe('S4.7 prices', () => {
  const prices = { input: 3_000_000, output: 15_000_000, cacheRead: 300_000, cacheWrite: 3_750_000 };

  it('count cached tokens apart from other input', () => {
    const usage = { inputTokens: 142, outputTokens: 10, cacheReadTokens: 100, cacheWriteTokens: 30 };
    expect(costOf(usage, prices)).toBe(Math.ceil(12 * 3 + 100 * 0.3 + 30 * 3.75 + 10 * 15));
  });

  it('are not known of a usage that is not known', () => {
    expect(costOf({ inputTokens: 5 }, prices)).toBeUndefined();
    expect(costOf({}, prices)).toBeUndefined();
  });

  it('are whole, never less than exact, and off by less than one', () => {
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
  it('is the sum of its tokens at the prices of the preset or alias', () => {
    const usage = { inputTokens: 1_000, outputTokens: 200 };
    expect(priceUsage(usage, 'fast', book)).toEqual({ tokens: 1_200, microUsd: 2_000 });
    expect(priceUsage(usage, 'haiku', book)).toEqual(priceUsage(usage, 'fast', book));
  });

  it('is null, not 0, without a model, without prices or without a count', () => {
    const usage = { inputTokens: 1_000, outputTokens: 200 };
    expect(priceUsage(usage, undefined, book)).toEqual({ tokens: 1_200, microUsd: null });
    expect(priceUsage(usage, 'local', book)).toEqual({ tokens: 1_200, microUsd: null });
    expect(priceUsage({ inputTokens: 1_000 }, 'fast', book)).toEqual({ tokens: null, microUsd: null });
  });

  it('rejects a model that no preset or alias names', () => {
    expect(() => priceUsage({}, 'unheard-of', book)).toThrow(expect.objectContaining({ code: 'MODEL_PRESET_UNKNOWN' }));
  });
});

describe('S4.7 opening the model of a choice', () => {
  const KEY = 'sk-live-0123456789';
  const catalog = (secrets: Record<string, string>, scripts = new ScriptedVendor()): ModelCatalog =>
    new ModelCatalog({
      vendors: VendorRegistry.withAll(scripts),
      secrets: (name) => (secrets[name] ? new Secret(secrets[name]) : undefined),
      fetch: () => Promise.reject(new Error('not called')),
    });

  it('refuses a key that cannot be sent, before anything is sent', () => {
    const { choice } = resolveModel('fast', book);
    const open = (): unknown => catalog({ ANTHROPIC_API_KEY: `${KEY}\n` }).open(choice);
    expect(open).toThrow(expect.objectContaining({ code: 'MODEL_KEY_REFUSED', fault: 'operator' }));
    expect(open).not.toThrow(KEY);
  });

  it('finds the key by its name, and says which one is missing', () => {
    const { choice } = resolveModel('fast', book);
    expect(catalog({ ANTHROPIC_API_KEY: KEY }).open(choice)).toMatchObject({
      vendor: 'anthropic',
      model: 'claude-haiku',
    });
    expect(() => catalog({}).open(choice)).toThrow(/Set ANTHROPIC_API_KEY/);
    expect(() => catalog({}).open({ ...choice, keyEnv: undefined })).toThrow(/as keyEnv of the preset/);
  });

  it('applies the settings of the choice, which a request may overrule', async () => {
    const model = scripted(say('ok'));
    const scripts = new ScriptedVendor({ mine: () => model });
    const choice = { vendor: 'scripted', model: 'mine', settings: { temperature: 0.5, seed: 1 } };
    const reply = await catalog({}, scripts)
      .open(choice)
      .complete({ messages: [userMessage('hi')], settings: { seed: 2 } });
    expect(textOf(reply.content)).toBe('ok');
    expect(model.calls[0]?.request.settings).toEqual({ temperature: 0.5, seed: 2 });
  });

  it('names the known vendors when one is unknown, and refuses one twice', () => {
    const unknown = { vendor: 'mistral', model: 'x', settings: {} };
    expect(() => catalog({}).open(unknown)).toThrow(/Known: anthropic, openai, openai-compatible, scripted/);
    expect(() => VendorRegistry.withAll().register(new ScriptedVendor())).toThrow(
      /already a model vendor named scripted/,
    );
  });

  it('shows a key nowhere', () => {
    const secret = new Secret(KEY);
    expect([String(secret), JSON.stringify({ secret }), inspect({ secret })].join()).not.toContain(KEY);
    expect(secret.redactIn(`bad key ${KEY}!`)).toBe('bad key [secret]!');
  });
});
