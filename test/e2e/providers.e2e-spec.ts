import { AgentProviderRegistry, ModelCatalog, type ProviderView } from '#rollcall/providers';
import { startApi, type TestApi } from '../support/api.js';

const KEYS = {
  ANTHROPIC_API_KEY: 'sk-ant-0123456789',
  CODER_KEY: 'coder-0123456789',
  AGENT_KEY: 'agent-0123456789',
  DATABASE_PASSWORD: 'not-for-agents-0123456789',
};
const ENVIRONMENT = {
  ...KEYS,
  ROLLCALL_MODELS: JSON.stringify({
    default: 'fast',
    presets: {
      fast: { vendor: 'anthropic', model: 'claude-haiku-4-5' },
      local: { vendor: 'openai-compatible', model: 'llama3.3', baseUrl: 'http://127.0.0.1:11434/v1' },
    },
  }),
  ROLLCALL_PROGRAMS: JSON.stringify({ coder: { command: '/bin/cat', user: 'same', secretEnv: ['CODER_KEY'] } }),
  ROLLCALL_AGENT_CREDENTIALS: JSON.stringify({ AGENT_KEY: 'https://agents.example' }),
};

let api: TestApi;
beforeAll(async () => void (api = await startApi(ENVIRONMENT)));
afterAll(async () => await api.stop());

/** The model vendors. */
const MODELS = [
  'anthropic',
  'azure',
  'bedrock',
  'google',
  'ollama',
  'openai',
  'openai-compatible',
  'openrouter',
  'scripted',
  'vllm',
];

const list = async (from: TestApi, query = ''): Promise<ProviderView[]> =>
  (await from.call<{ items: ProviderView[] }>('GET', `/v1/providers${query}`)).body.items;
const named = (items: ProviderView[], name: string): ProviderView | undefined => items.find((one) => one.name === name);

describe('providers', () => {
  it('S1.1 S1.10 lists providers with their kind and whether they are usable', async () => {
    const items = await list(api);
    expect(items.map(({ kind, name, agentType }) => [kind, name, agentType])).toEqual([
      ['agent', 'a2a', 'remote'],
      ['agent', 'claude-sdk', 'sdk'],
      ['agent', 'http', 'api'],
      ['agent', 'native', 'in-process'],
      ['agent', 'subprocess', 'subprocess'],
      ...MODELS.map((name) => ['model', name, undefined]),
    ]);
    expect(items.filter(({ usable }) => !usable).map(({ name }) => name)).toEqual([
      'claude-sdk',
      'azure',
      'bedrock',
      'google',
      'openai',
      'openrouter',
      'vllm',
    ]);
    expect(items.every(({ about }) => about !== '')).toBe(true);
    expect(named(items, 'anthropic')?.presets).toEqual(['fast']);
  });

  it('S1.1 a provider that is not usable reports what is missing and how to add it', async () => {
    const items = await list(api);
    expect(named(items, 'claude-sdk')?.needs).toEqual([
      { what: expect.stringContaining('claude-agent-sdk'), met: false, how: expect.stringContaining('npm install') },
      { what: 'ANTHROPIC_API_KEY', met: true },
    ]);
    expect(named(items, 'openai')?.needs).toEqual([
      { what: 'OPENAI_API_KEY', met: false, how: 'Set OPENAI_API_KEY where Rollcall runs.' },
    ]);
  });

  it('S1.1 without configuration, only the providers that need no key, program or URL are usable; the others report what to configure', async () => {
    const bare = await startApi();
    const items = await list(bare);
    expect(items.filter(({ usable }) => usable).map(({ name }) => name)).toEqual([
      'a2a',
      'http',
      'native',
      'ollama',
      'scripted',
    ]);
    expect(named(items, 'openai-compatible')?.needs[0]?.how).toContain('baseUrl');
    expect(named(items, 'subprocess')?.needs[0]?.how).toContain('providers.programs');
    await bare.stop();
  });

  it('S1.1 providers show the schema of their settings, without any key', async () => {
    const answer = await api.call<{ items: ProviderView[] }>('GET', '/v1/providers');
    expect(named(answer.body.items, 'a2a')?.settings).toMatchObject({
      type: 'object',
      properties: { url: { type: 'string' }, credential: { type: 'object' } },
      required: ['url'],
      additionalProperties: false,
    });
    for (const key of Object.values(KEYS)) expect(JSON.stringify(answer.body)).not.toContain(key);
  });

  it('filters providers by kind', async () => {
    expect((await list(api, '?kind=model')).map(({ kind }) => kind)).toEqual(MODELS.map(() => 'model'));
    expect(await api.call('GET', '/v1/providers?kind=toaster')).toMatchObject({ status: 400 });
    expect(await api.call('GET', '/v1/providers?colour=red')).toMatchObject({ status: 400 });
  });

  it('S1.1 a provider creates agents: a configured program runs, and the error for an unknown provider lists the known ones', async () => {
    const registry = api.app.nest.get(AgentProviderRegistry, { strict: false });
    const agent = await registry.get('subprocess').createAgent({ name: 'ada', settings: { program: 'coder' } });
    expect(agent.state).toBe('idle');
    await agent.shutdown();
    expect(() => registry.get('toaster')).toThrow(/Known: a2a, claude-sdk, http, native, subprocess/);
  });

  it('a provider rejects an agent whose key is not configured for the origin of its URL', async () => {
    const registry = api.app.nest.get(AgentProviderRegistry, { strict: false });
    const create = async (url: string, env: string): Promise<string> =>
      await registry
        .get('http')
        .createAgent({ name: 'ada', settings: { url, credential: { env } } })
        .then(() => 'created', String);
    expect(await create('https://agents.example/ada', 'AGENT_KEY')).toBe('created');
    expect(await create('https://thief.example/ada', 'AGENT_KEY')).toContain(
      'does not allow it for https://thief.example',
    );
    for (const env of ['ANTHROPIC_API_KEY', 'CODER_KEY', 'DATABASE_PASSWORD'])
      expect(await create('https://agents.example/ada', env)).toContain('does not allow it for');
  });

  it('S4.7 the model catalog opens a model only with a key that is configured for models', () => {
    const catalog = api.app.nest.get(ModelCatalog, { strict: false });
    const choice = { vendor: 'anthropic', model: 'claude-haiku-4-5', settings: {} };
    expect(catalog.open({ ...choice, keyEnv: 'ANTHROPIC_API_KEY' }).model).toBe('claude-haiku-4-5');
    expect(() => catalog.open({ ...choice, keyEnv: 'CODER_KEY' })).toThrow(/Set CODER_KEY/);
  });
});
