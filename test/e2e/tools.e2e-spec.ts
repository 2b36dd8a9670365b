import { startApi, type TestApi } from '../support/api.js';

interface Tools {
  items: { name: string; toolbox: string; enabled: boolean; idempotent: boolean; inputSchema: { type: string } }[];
}

async function toolsOf(api: TestApi): Promise<Tools['items']> {
  return (await api.call<Tools & Record<string, unknown>>('GET', '/v1/tools')).body.items;
}

describe('GET /v1/tools', () => {
  let api: TestApi;
  beforeAll(async () => void (api = await startApi()));
  afterAll(async () => await api.stop());

  it('S2.2 lists the built-in tools with their schemas, and whether agents may use them', async () => {
    const items = await toolsOf(api);
    expect(items.map(({ name, toolbox, enabled }) => [name, toolbox, enabled])).toEqual([
      ['clock', 'clock', true],
      ['find_agents', 'find_agents', true],
      ['remember', 'memory', true],
      ['recall', 'memory', true],
      ['http_fetch', 'http_fetch', false],
    ]);
    expect(items.every(({ inputSchema }) => inputSchema.type === 'object')).toBe(true);
    expect(items[0]).toMatchObject({ idempotent: true, needsApproval: false });
  });

  it('S2.2 is not permitted to agents and callers', async () => {
    for (const role of ['agent', 'caller'] as const) {
      const answer = await api.call('GET', '/v1/tools', { key: await api.given.key(role) });
      expect(answer).toMatchObject({ status: 403, body: { code: 'FORBIDDEN' } });
    }
  });
});

describe('the settings of tools', () => {
  it('S4.4 turn toolboxes on and off', async () => {
    const api = await startApi({ ROLLCALL_TOOLS_OFF: 'memory,clock', ROLLCALL_TOOLS_HTTP_FETCH: 'read' });
    const enabled = (await toolsOf(api)).filter((tool) => tool.enabled);
    await api.stop();
    expect(enabled.map(({ name, idempotent }) => [name, idempotent])).toEqual([
      ['find_agents', true],
      ['http_fetch', true],
    ]);
  });
});
