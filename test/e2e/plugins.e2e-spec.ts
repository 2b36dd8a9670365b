import { until } from '#rollcall/test-support';
import type { CloudEvent } from '../../apps/api/src/package/plugin.js';
import { acmePlugin } from '../support/acme.plugin.js';
import { startApi, type TestApi } from '../support/api.js';

interface RunBody {
  id: string;
  state: string;
  result: { parts: { text?: string }[]; reason?: string; error?: { code: string } } | null;
}

const received: CloudEvent[] = [];
const ACME = { use: './acme.js', config: { city: 'Oslo' }, plugin: acmePlugin(received) };
const CONSTANTS = { pluginLimits: { guardrailMs: 200 } };

let api: TestApi;
/** Another replica, without the plugin. */
let bare: TestApi;
beforeAll(async () => {
  api = await startApi({ ROLLCALL_LANGFUSE_REFRESH_EVERY: '1s' }, { plugins: [ACME], constants: CONSTANTS });
  bare = await api.replica({});
});
afterAll(async () => {
  await bare.stop();
  await api.stop();
});

const runOn = async (replica: TestApi, body: object): Promise<RunBody> => {
  const { body: run, status } = await replica.call<RunBody>('POST', '/v1/runs', { body });
  expect({ status, run }).toMatchObject({ status: 202 });
  return (await api.call<RunBody>('GET', `/v1/runs/${run.id}?waitMs=20000`)).body;
};
const ask = async (input: string, replica = api): Promise<RunBody> =>
  await runOn(replica, { definition: 'acme-guide', input });
const textOf = ({ result }: RunBody): string => (result?.parts ?? []).map(({ text = '' }) => text).join('');
const faults = async (): Promise<string[]> => {
  const { body } = await api.call<{ items: { faults: { part: string; kind: string }[] }[] }>('GET', '/v1/plugins');
  return body.items.flatMap((item) => item.faults.map(({ part, kind }) => `${part} ${kind}`));
};

describe('a plugin', () => {
  it('S2.11 is listed with its version, its origin and its parts, and only by replicas that have it', async () => {
    const { body } = await api.call('GET', '/v1/plugins');
    expect(body).toMatchObject({
      items: [
        {
          name: 'acme',
          version: '1.2.3',
          from: './acme.js',
          parts: {
            tools: ['acme_fails', 'acme_hangs', 'acme_forecast'],
            toolBoxes: ['acme-clock'],
            strategies: ['shortest-name'],
            inputGuardrails: ['#1'],
            modules: ['DeskModule'],
          },
        },
      ],
    });
    expect((await bare.call('GET', '/v1/plugins')).body).toEqual({ items: [] });
  });

  it('S2.2 S4.4 adds tools, toolboxes, a model vendor and definitions, and its configuration reaches them', async () => {
    expect(textOf(await ask('use acme_forecast {"day":"tomorrow"}'))).toBe('tool said sunny in Oslo tomorrow');
    expect(textOf(await ask('use acme_time'))).toBe('tool said noon');
    const { body } = await api.call('GET', '/v1/definitions/acme-guide/effective');
    expect(body).toMatchObject({
      plugins: ['acme'],
      tools: expect.arrayContaining([
        { name: 'acme_forecast', origin: 'acme' },
        { name: 'acme_time', origin: 'acme-clock' },
      ]) as unknown,
      middleware: [
        'tracing',
        'logger',
        'recovery',
        'timeout',
        'acme.quiet',
        'acme.strict',
        'inputGuardrail',
        'outputGuardrail',
        'budget',
      ],
    });
  });

  it('B6 executes the runs of its agents only where it is loaded, whichever replica starts them', async () => {
    const runs = await Promise.all(Array.from({ length: 4 }, async () => await ask('use acme_time', bare)));
    expect(runs.map(textOf)).toEqual(Array.from({ length: 4 }, () => 'tool said noon'));
    const content = { description: 'Names no tool.', model: { vendor: 'parrot', model: 'p1' } };
    const { body } = await api.call('POST', '/v1/definitions', { body: { name: 'plain', content } });
    expect(body).toMatchObject({ content: { plugins: ['acme'] } });
    const refused = await bare.call('POST', '/v1/definitions', {
      body: { name: 'no', content: { ...content, plugins: ['acme'] } },
    });
    expect(refused.body).toMatchObject({ code: 'DEFINITION_INVALID' });
    expect(refused.status).toBe(400);
  });

  it('S2.11 keeps its definitions when a replica without it starts', async () => {
    expect((await bare.call('GET', '/v1/definitions/acme-guide')).status).toBe(200);
  });

  it('S2.8 checks inputs and answers; a check that fails or hangs rejects, and is counted', async () => {
    const rejected = await ask('something forbidden');
    expect(rejected).toMatchObject({ state: 'stopped', result: { reason: 'guardrail' } });
    expect(textOf(await ask('a secret'))).toBe('you said a ***');
    expect(await ask('explode')).toMatchObject({
      state: 'failed',
      result: { error: { code: 'AGENT_FAILED_INTERNALLY' } },
    });
    expect(await ask('stall')).toMatchObject({
      state: 'failed',
      result: { error: { code: 'AGENT_FAILED_INTERNALLY' } },
    });
    expect(await faults()).toEqual(expect.arrayContaining(['guardrail error', 'guardrail timeout']));
  });

  it('S2.2 reports the failures of its tools to the model, and counts them', async () => {
    expect(textOf(await ask('use acme_fails'))).toContain('out of order');
    expect(JSON.stringify(await ask('use acme_hangs'))).toContain('did not finish within 50 ms');
    expect(await faults()).toEqual(expect.arrayContaining(['tool error', 'tool timeout']));
    const { body } = await api.call<string>('GET', '/metrics');
    expect(body).toContain('rollcall_plugin_failures_total{plugin="acme",part="tool",kind="timeout"} 1');
  });

  it('M-4 counts the failures of middleware, model vendors and factories; the run fails, or the model gets the message', async () => {
    const content = { description: 'Breaks.', model: { vendor: 'parrot', model: 'p1' } };
    await api.call('POST', '/v1/definitions', { body: { name: 'broken', content } });
    const failed = { state: 'failed', result: { error: { code: 'AGENT_FAILED_INTERNALLY' } } };
    expect(await runOn(api, { definition: 'broken', input: 'hello' })).toMatchObject(failed);
    expect(await ask('crash')).toMatchObject(failed);
    expect(textOf(await ask('use delegate_to_agent {"agent":"acme-lost","task":"hi"}'))).toContain('tool said');
    expect(await faults()).toEqual(expect.arrayContaining(['middleware error', 'model vendor error', 'factory error']));
  });

  it('S1.7 S2.3 adds agent providers, and factories of agents that others delegate to', async () => {
    const content = { description: 'Echoes.', provider: 'echo' };
    await api.call('POST', '/v1/definitions', { body: { name: 'remote-echo', content } });
    expect(textOf(await runOn(bare, { definition: 'remote-echo', input: 'hello' }))).toBe('echo: hello');
    expect(textOf(await ask('use delegate_to_agent {"agent":"acme-echo","task":"hi"}'))).toContain('echo: hi');
  });

  it('S3.7 adds strategies; after one has failed, the default one answers and the answer names it', async () => {
    await api.given.agent({ agentId: 'q1', name: 'a-long-name', capabilities: ['weigh'] });
    await api.given.agent({ agentId: 'q2', name: 'short', capabilities: ['weigh'] });
    const query = { capabilities: ['weigh'], prefer: 'shortest-name' };
    const answer = await api.call('POST', '/v1/agents/query', { body: query });
    expect(answer.body).toMatchObject({
      prefer: 'shortest-name',
      candidates: [
        { agent: { agentId: 'q2' }, score: 5, reasons: expect.arrayContaining(['score 5']) as unknown },
        { agent: { agentId: 'q1' }, score: 11 },
      ],
    });
    const unknown = await bare.call('POST', '/v1/agents/query', { body: query });
    expect(unknown.body).toMatchObject({ code: 'UNKNOWN_STRATEGY' });
    await api.given.agent({ agentId: 'q3', name: 'odd-one', capabilities: ['weigh'] });
    const failed = await api.call('POST', '/v1/agents/query', { body: query });
    expect(failed.body).toMatchObject({ prefer: 'cheapest', failedStrategy: 'shortest-name' });
    expect((failed.body['candidates'] as unknown[]).length).toBe(3);
    expect(await faults()).toContain('strategy error');
  });

  it('S3.9 adds scoring rules of auctions; invalid scores are counted, and the default rule decides', async () => {
    expect(await auction('price-1', [10, 20])).toEqual({ winner: 'price-1-20', rule: 'dearest' });
    expect(await auction('price-2', [13, 20])).toEqual({ winner: 'price-2-13', rule: 'weighted' });
    expect(await faults()).toContain('scoring rule error');
  });

  it('S3.10 adds sources of usage, which charge the budgets of agents', async () => {
    const budget = { totalTokens: 1_000, source: 'meter' };
    await api.given.agent({ agentId: 'metered', name: 'metered', capabilities: ['count'], budget });
    await until('the usage of the source is charged', async () => {
      const { body } = await api.call<{ budget: { usedTokens: number } }>('GET', '/v1/agents/metered');
      return body.budget.usedTokens === 42;
    });
  });

  it('S3.2 adds sinks of events, which one replica at a time delivers to, again after a failure', async () => {
    await until('the sink has the event', () =>
      received.some(({ type, subject }) => type === 'dev.rollcall.agent.joined' && subject === 'q1'),
    );
    expect(received.every(({ type }) => type.startsWith('dev.rollcall.agent.'))).toBe(true);
    expect(await faults()).toContain('event sink error');
    expect((await api.call('GET', '/v1/sinks')).body).toMatchObject({
      items: [{ id: 'acme.list', kind: 'acme.list' }],
    });
  });

  it('S2.11 adds routes below /x with the services of Rollcall, behind the same guard', async () => {
    expect((await api.call('GET', '/x/acme/desk/tools')).body).toMatchObject({
      tools: expect.arrayContaining(['acme_forecast']) as unknown,
    });
    expect((await api.call('GET', '/x/acme/desk/tools', { key: null })).status).toBe(401);
    expect((await api.call('GET', '/x/acme/desk/undeclared')).status).toBe(403);
    expect((await bare.call('GET', '/x/acme/desk/tools')).status).toBe(404);
  });
});

describe('a start with plugins', () => {
  const startError = async (plugin: unknown, config: object = {}, more: unknown[] = []): Promise<string> => {
    const plugins = [plugin, ...more].map((one) => Object.assign({ use: './p.js', plugin: one }, config));
    const error = await api.replica({}, { plugins }).then(
      async (started) => await started.stop(),
      (thrown: unknown) => thrown as Error,
    );
    return error instanceof Error ? error.message : 'started';
  };

  it('S2.11 stops with the plugin, the field and the remedy', async () => {
    const tool = { name: 'clash', execute: () => '', description: 'x', parse: () => ({ ok: true }), inputSchema: {} };
    expect(await startError(undefined)).toContain('no default export. Write `export default definePlugin');
    expect(await startError({ name: 'Bad Name' })).toContain('./p.js cannot be used: name: "Bad Name". Use 1 to 40');
    expect(await startError({ name: 'p', toolz: [] })).toContain(
      'toolz: a plugin has no such field. Did you mean tools?',
    );
    expect(await startError({ name: 'p', tools: {} })).toContain('tools: it is not a list');
    expect(await startError({ name: 'p', strategies: [{ name: 's' }] })).toContain(
      'strategies[0]: s has no function score',
    );
    expect(await startError({ name: 'p', rollcall: '^9.0.0' })).toContain(
      'works with Rollcall ^9.0.0, but this is 0.1.0',
    );
    expect(await startError({ name: 'p' }, { config: { a: 1 } })).toContain(
      'p (./p.js) cannot be used: config: the plugin has no',
    );
    expect(await startError(ACME.plugin, { config: { city: 7 } })).toMatch(
      /config\.city: .*expected string.*Correct its config block/,
    );
    expect(await startError({ name: 'p', setup: () => Promise.reject(new Error('no key')) })).toContain(
      'setup: no key',
    );
    expect(await startError({ name: 'p' }, {}, [{ name: 'p' }])).toContain('are both named p');
    expect(await startError({ name: 'p', strategies: [{ name: 'cheapest', score: () => 1 }] })).toContain(
      'strategies: the name cheapest is already used by Rollcall itself',
    );
    expect(await startError({ name: 'p', tools: [tool] }, {}, [{ name: 'q', tools: [tool] }])).toMatch(
      /The plugin [pq] cannot be used: tools: the name clash is already used by the plugin [pq]\. Rename/,
    );
    expect(
      await startError({ name: 'p', definitions: [{ name: 'd', description: 'D.', tools: ['missing'] }] }),
    ).toContain('the definition "d" of the plugin p: tools: there is no tool "missing"');
    expect(await startError({ name: 'p', tools: [{ ...tool, name: 'clock' }] })).toContain(
      'by the toolbox clock of Rollcall',
    );
  });
});

/** Announces a contract that agents with these prices bid for. Returns the winner and the rule of the transcript. */
async function auction(capability: string, prices: readonly number[]): Promise<{ winner: string; rule: string }> {
  const agents = await Promise.all(
    prices.map(
      async (price) => await api.given.agent({ agentId: `${capability}-${price}`, capabilities: [capability] }),
    ),
  );
  const body = { capabilities: [capability], task: 'Build it.', scoring: 'dearest', bidWithinMs: 5_000 };
  const { body: contract } = await api.call<{ id: string }>('POST', '/v1/contracts', { body });
  await Promise.all(
    agents.map(async ({ agentId, generation, leaseToken: key }, index) => {
      const bid = { agentId, generation, price: prices[index], etaMs: 1_000, confidence: 1 };
      await api.call('POST', `/v1/contracts/${contract.id}/bids`, { key, body: bid });
    }),
  );
  type Body = { winner: string | null; transcript: { kind: string; data: { rule?: string } }[] };
  const read = async (): Promise<Body> => (await api.call<Body>('GET', `/v1/contracts/${contract.id}`)).body;
  await until('the contract is awarded', async () => (await read()).winner !== null);
  const { winner, transcript } = await read();
  return { winner: winner ?? '', rule: transcript.find(({ kind }) => kind === 'scored')?.data.rule ?? '' };
}
