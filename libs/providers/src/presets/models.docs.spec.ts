import { readFileSync } from 'node:fs';
import type { EgressClient } from '../egress/egress.client.js';
import { userMessage } from '../models/message.js';
import { VendorRegistry } from '../models/vendor.registry.js';
import { Secret } from '../secrets/secret.js';
import { localEgress } from '../testing/local-egress.js';
import { anthropicWire } from '../testing/wires/anthropic.wire.js';
import { bedrockWire } from '../testing/wires/bedrock.wire.js';
import { googleWire } from '../testing/wires/google.wire.js';
import { openAiChatWire } from '../testing/wires/openai-chat.wire.js';
import { openAiResponsesWire } from '../testing/wires/openai-responses.wire.js';
import type { Wire } from '../testing/wires/scenario.js';
import { VendorServer } from '../testing/wires/vendor.server.js';
import { MODEL_VARIABLES, presetsOfKeys } from './key.presets.js';
import { ModelCatalog } from './model.catalog.js';
import { resolveModel } from './model.resolver.js';
import { type ModelsConfig, PresetCatalog } from './preset.catalog.js';
import { PriceList } from './price.list.js';
import { costOf } from './prices.js';

const ROOT = new URL('../../../../', import.meta.url);
const PAGE = readFileSync(new URL('docs/models.md', ROOT), 'utf8');
const PRICES = PriceList.parse(JSON.parse(readFileSync(new URL('deploy/model-prices.json', ROOT), 'utf8')));
const KEY = 'sk-test-0123456789abcdef';
const USAGE = { inputTokens: 1_000_000, outputTokens: 1_000_000 };

const WIRES: Record<string, Wire> = {
  anthropic: anthropicWire,
  openai: openAiResponsesWire,
  azure: openAiResponsesWire,
  google: googleWire,
  bedrock: bedrockWire,
};

/** The recipes of the page: each block of JSON. */
const RECIPES = [...PAGE.matchAll(/^### (.+)\n[^]*?```json\n([^]*?)```/gm)].map(
  ([, title = '', json = '{}']) => [title, JSON.parse(json) as ModelsConfig] as const,
);

describe('docs/models.md', () => {
  let egress: EgressClient;
  beforeEach(() => {
    egress = localEgress();
  });
  afterEach(async () => await egress.close());

  /** Calls a preset at a local server that has the format of its vendor, and returns the cost of the call. */
  async function costAt(presets: PresetCatalog, name: string): Promise<number | undefined> {
    const { choice } = resolveModel(name, presets);
    const server = await VendorServer.start(WIRES[choice.vendor] ?? openAiChatWire);
    server.play({ does: 'say', pieces: ['ok'], usage: USAGE });
    const asked: string[] = [];
    const secrets = (variable: string): Secret => {
      asked.push(variable);
      return new Secret(KEY);
    };
    const catalog = new ModelCatalog({ vendors: VendorRegistry.withAll(), secrets, fetch: egress.fetch });
    const reply = await catalog
      .open({ ...choice, baseUrl: server.baseUrl })
      .complete({ messages: [userMessage('hello')] });
    await server.close();
    expect(reply.content).toMatchObject([{ type: 'text', text: 'ok' }]);
    expect(asked).toEqual(choice.keyEnv === undefined ? [] : [choice.keyEnv]);
    return choice.prices && costOf(reply.usage, choice.prices);
  }

  it('N-9 has a recipe for each vendor', () => {
    const used = RECIPES.flatMap(([, { presets }]) => Object.values(presets).map(({ vendor }) => vendor));
    const vendors = VendorRegistry.withAll()
      .list()
      .map(({ name }) => name);
    expect(new Set([...used, 'scripted'])).toEqual(new Set(vendors));
  });

  it.each(RECIPES)('N-9 every preset of the recipe answers and has a price: %s', async (_title, config) => {
    const presets = new PresetCatalog(config, PRICES);
    for (const name of Object.keys(config.presets)) expect(await costAt(presets, name)).toEqual(expect.any(Number));
  });

  it.each([
    ['ANTHROPIC_API_KEY', {}],
    ['OPENAI_API_KEY', {}],
    ['GEMINI_API_KEY', {}],
    ['GOOGLE_GENERATIVE_AI_API_KEY', {}],
    ['OPENROUTER_API_KEY', {}],
    ['AWS_BEARER_TOKEN_BEDROCK', { AWS_REGION: 'eu-central-1' }],
  ])('N-9 with %s alone, presets with prices exist, and the default answers', async (variable, more) => {
    const config = presetsOfKeys({ [variable]: KEY, ...more }, PRICES);
    if (!config) throw new Error('there are no presets');
    const presets = new PresetCatalog(config, PRICES);
    for (const { prices, pricesAsOf, keyEnv } of presets.list())
      expect([prices?.input, pricesAsOf, keyEnv]).toEqual([expect.any(Number), PRICES.date, variable]);
    expect(await costAt(presets, config.default)).toBeGreaterThan(0);
  });

  it('N-9 a deployment of Azure has a preset with its name, at its address', async () => {
    const environment = { AZURE_OPENAI_API_KEY: KEY, AZURE_OPENAI_DEPLOYMENT: 'mine' };
    expect(presetsOfKeys(environment, PRICES)).toBeUndefined();
    const config = presetsOfKeys({ ...environment, AZURE_OPENAI_ENDPOINT: 'https://r.openai.azure.com/' }, PRICES);
    expect(config?.presets['mine']).toMatchObject({ baseUrl: 'https://r.openai.azure.com/openai/v1' });
    expect(await costAt(new PresetCatalog(config!, PRICES), 'mine')).toBeUndefined();
  });

  it('N-9 the first key decides the default, and the page names every variable', () => {
    const config = presetsOfKeys({ OPENAI_API_KEY: KEY, GEMINI_API_KEY: KEY }, PRICES);
    expect(config?.default).toBe('gpt-6-sol');
    expect(Object.keys(config?.presets ?? {})).toEqual(expect.arrayContaining(['gpt-6-luna', 'gemini-3.8-flash']));
    for (const name of MODEL_VARIABLES) expect(PAGE).toContain(`\`${name}\``);
  });

  it('N-9 the list never changes a stated price, and prices a model that a definition selects', () => {
    const own = { input: 9, output: 9 };
    const config = { default: 'a', presets: { a: { vendor: 'openai', model: 'gpt-6-sol', usdPerMillionTokens: own } } };
    const presets = new PresetCatalog(config, PRICES);
    expect(presets.find('a')?.choice).toMatchObject({ prices: { input: 9_000_000 }, contextWindow: 272_000 });
    expect(presets.find('a')?.choice.pricesAsOf).toBeUndefined();
    const inline = resolveModel({ vendor: 'anthropic', model: 'claude-opus-5-5' }, presets).choice;
    expect(inline).toMatchObject({ prices: { input: 4_000_000, output: 20_000_000 }, pricesAsOf: PRICES.date });
    const changed = resolveModel({ preset: 'a', model: 'gpt-6-luna' }, presets).choice;
    expect(changed).toMatchObject({ prices: { input: 100_000 }, pricesAsOf: PRICES.date });
  });
});
