import { startApi, type TestApi } from '../support/api.js';

const MODELS = {
  default: 'fast',
  presets: {
    fast: { vendor: 'anthropic', model: 'claude-haiku-4-5', usdPerMillionTokens: { input: 1, output: 5 } },
    local: { vendor: 'openai-compatible', model: 'llama3.3', baseUrl: 'http://127.0.0.1:11434/v1' },
  },
  aliases: { sonnet: 'fast' },
};

let api: TestApi;
beforeAll(async () => void (api = await startApi({ ROLLCALL_MODELS: JSON.stringify(MODELS) })));
afterAll(async () => await api.stop());

describe('models', () => {
  it('S4.7 lists models with their aliases, prices in micro-dollars and the name of the key variable, without the key', async () => {
    const { body } = await api.call<{ items: unknown[]; vendors: string[] }>('GET', '/v1/models');
    expect(body.vendors).toEqual(
      expect.arrayContaining(['anthropic', 'azure', 'bedrock', 'google', 'ollama', 'scripted']),
    );
    expect(body.items).toMatchObject([
      {
        name: 'fast',
        isDefault: true,
        aliases: ['sonnet'],
        keyEnv: 'ANTHROPIC_API_KEY',
        prices: { input: 1_000_000, output: 5_000_000 },
      },
      { name: 'local', isDefault: false, baseUrl: 'http://127.0.0.1:11434/v1' },
    ]);
  });

  it.each([
    ['?model=sonnet', { rule: 'alias', preset: 'fast' }],
    ['?model=opus', { rule: 'built-in-alias', preset: 'fast' }],
    ['?model=local', { rule: 'preset', preset: 'local' }],
    ['?model=inherit', { rule: 'default', preset: 'fast' }],
    ['', { rule: 'default', preset: 'fast' }],
  ])('S4.7 B7 reports the rule that chose the model: %s', async (query, expected) => {
    const { body } = await api.call('GET', `/v1/models/resolve${query}`);
    expect(body).toMatchObject(expected);
    expect(body['because']).not.toBe('');
  });

  it('S4.7 rejects an unknown model and lists the known ones', async () => {
    const answer = await api.call('GET', '/v1/models/resolve?model=nope');
    expect(answer).toMatchObject({ status: 400, body: { code: 'MODEL_PRESET_UNKNOWN' } });
    expect(answer.body['detail']).toContain('fast, local');
  });

  it('lists one preset that needs no key when no preset is configured', async () => {
    const plain = await startApi();
    expect((await plain.call('GET', '/v1/models')).body).toMatchObject({
      items: [{ name: 'demo', vendor: 'scripted' }],
    });
    await plain.stop();
  });
});
