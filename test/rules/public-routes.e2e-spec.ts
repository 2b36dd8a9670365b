import { startApi, type TestApi } from '../support/api.js';
import { declaredRoutes, served } from '../support/route-census.js';

interface PublicRoute {
  /**
   * `prepared`: the bytes are made when the source changes. `bounded`: computed with a bounded cost, then kept until the source changes.
   * `file`: a file of the documentation. `fixed`: a short text that depends on nothing.
   */
  readonly answer: 'prepared' | 'bounded' | 'file' | 'fixed';
  /** How many requests one request counts as. 0: never limited. */
  readonly cost: number;
  /** The label of the metric that counts how often the document is made. */
  readonly document?: string;
  /** The address, if the route has parameters. */
  readonly path?: string;
  readonly body?: object;
}

const AGENT = 'urn:air:127.0.0.1:agent:forecaster';
const SERVER = '1.0.0.127.agents%2Fforecaster';
const SEARCH = { query: { text: 'weather forecast' } };
const FACETS = { resultType: { facets: [{ field: 'type' }] } };

/** Every route that needs no credential. Decide how a new route is answered, and add it here by hand. */
const PUBLIC: Record<string, PublicRoute> = {
  'GET /': { answer: 'fixed', cost: 1 },
  'GET /.well-known/agent-card.json': { answer: 'prepared', cost: 1, document: 'agent-card' },
  'GET /.well-known/ai-catalog.json': { answer: 'prepared', cost: 1, document: 'ai-catalog' },
  'GET /.well-known/ard.json': { answer: 'prepared', cost: 1, document: 'ard-catalog' },
  'GET /.well-known/jwks.json': { answer: 'prepared', cost: 1, document: 'jwks' },
  'GET /.well-known/oauth-protected-resource/mcp': { answer: 'prepared', cost: 1, document: 'oauth-metadata' },
  'GET /ard': { answer: 'prepared', cost: 1, document: 'ard-registry' },
  'GET /ard/agents': { answer: 'bounded', cost: 10, document: 'ard-list' },
  'GET /ard/agents/:identifier': { answer: 'prepared', cost: 1, document: 'ard-entry', path: `/ard/agents/${AGENT}` },
  'GET /ard/agents/:identifier/agent-card.json': {
    answer: 'prepared',
    cost: 1,
    document: 'agent-card',
    path: `/ard/agents/${AGENT}/agent-card.json`,
  },
  'GET /console': { answer: 'fixed', cost: 1 },
  'GET /console/*': { answer: 'file', cost: 1, path: '/console/' },
  'GET /docs': { answer: 'fixed', cost: 1 },
  'GET /docs/': { answer: 'fixed', cost: 1 },
  'GET /docs/*': { answer: 'file', cost: 1, path: '/docs/swagger-ui.css' },
  'GET /docs/LICENSE': { answer: 'fixed', cost: 1 },
  'GET /docs/docs/swagger-ui-init.js': { answer: 'fixed', cost: 1 },
  'GET /docs/index.html': { answer: 'fixed', cost: 1 },
  'GET /docs/swagger-ui-init.js': { answer: 'fixed', cost: 1 },
  'GET /health/live': { answer: 'prepared', cost: 0, document: 'health-live' },
  'GET /health/ready': { answer: 'prepared', cost: 0, document: 'health-ready' },
  'GET /mcp/server-card': { answer: 'prepared', cost: 1, document: 'mcp-server-card' },
  'GET /openapi.json': { answer: 'prepared', cost: 1, document: 'openapi' },
  'GET /asyncapi.json': { answer: 'prepared', cost: 1, document: 'asyncapi' },
  'GET /v0.1/servers': { answer: 'bounded', cost: 10, document: 'mcp-servers' },
  'GET /v0.1/servers/:name/versions': {
    answer: 'prepared',
    cost: 1,
    document: 'mcp-servers',
    path: `/v0.1/servers/${SERVER}/versions`,
  },
  'GET /v0.1/servers/:name/versions/:version': {
    answer: 'prepared',
    cost: 1,
    document: 'mcp-servers',
    path: `/v0.1/servers/${SERVER}/versions/latest`,
  },
  'GET /v1/agents/ws': { answer: 'fixed', cost: 1 },
  'GET /v1/events/ws': { answer: 'fixed', cost: 1 },
  'POST /ard/explore': { answer: 'bounded', cost: 10, document: 'ard-explore', body: FACETS },
  'POST /v1/sessions/tickets/exchange': { answer: 'bounded', cost: 10, body: { ticket: 'unknown' } },
  'POST /ard/search': { answer: 'bounded', cost: 10, document: 'ard-search', body: SEARCH },
};

const STRANGERS = 100;
const CATALOG = { ROLLCALL_CATALOG_LABEL: 'visibility=public' };
/** The catalogs are computed once, so that a test can count how often a document is made. */
const FROZEN = { constants: { catalog: { refresh: Number.MAX_SAFE_INTEGER } } };

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

let api: TestApi;

async function start(settings: Record<string, string> = {}): Promise<void> {
  api = await startApi({ ...CATALOG, ...settings }, FROZEN);
  const labels = { visibility: 'public' };
  await api.given.agent({ agentId: 'forecaster', capabilities: ['weather.forecast'], labels });
}

async function ask(route: string, headers: Record<string, string> = {}): Promise<Reply> {
  const [method = '', pattern = ''] = route.split(' ');
  const { path = pattern, body } = PUBLIC[route] ?? {};
  const response = await fetch(api.url + path, {
    method,
    redirect: 'manual',
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

const routes = Object.keys(PUBLIC);
const withDocument = routes.filter((route) => PUBLIC[route]?.document !== undefined);
const crowd = async (route: string): Promise<Reply[]> =>
  await Promise.all(Array.from({ length: STRANGERS }, async () => await ask(route)));

async function timesMade(document: string): Promise<number> {
  const { body } = await api.call<string>('GET', '/metrics');
  const found = new RegExp(`^rollcall_documents_prepared_total\\{document="${document}"\\} (\\d+)$`, 'm').exec(body);
  return Number(found?.[1] ?? 0);
}

describe('public routes', () => {
  beforeAll(async () => await start());
  afterAll(async () => await api.stop());

  it('S-3 the census lists every route that needs no credential, and how it is answered', () => {
    const declared = declaredRoutes(api.app, served);
    const closed = new Set(declared.filter(({ access }) => access !== 'public').map(({ route }) => route));
    const open = api.app.routes.all().filter((route) => !closed.has(route) && !route.startsWith('HEAD '));
    expect([...new Set(['GET /', ...open])].toSorted()).toEqual(routes.toSorted());
  });

  it.each(withDocument)('S-3 %s: 100 strangers get the same bytes, which are made once', async (route) => {
    const document = PUBLIC[route]?.document ?? '';
    await ask(route);
    const made = await timesMade(document);
    expect(made).toBeGreaterThan(0);
    const replies = await crowd(route);
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    if (document === 'health-ready') return; // made again after a second
    expect(new Set(replies.map(({ bytes }) => bytes.toString('base64'))).size).toBe(1);
    expect(await timesMade(document)).toBe(made);
  });

  it.each(withDocument.filter((route) => route.startsWith('GET ') && !route.includes('health/ready')))(
    'S-3 %s: a client that has the document gets 304, also with a weak tag, with a list of tags and with *',
    async (route) => {
      const etag = (await ask(route)).headers.get('etag') ?? '';
      expect(etag).toMatch(/^"[\w-]+"$/);
      for (const known of [etag, `W/${etag}`, `"other", W/${etag}`, '*']) {
        const { status, bytes } = await ask(route, { 'if-none-match': known });
        expect({ known, status, bytes: bytes.length }).toEqual({ known, status: 304, bytes: 0 });
      }
      for (const unknown of ['"other"', etag.slice(1, -1), `"other", W/"another"`])
        expect((await ask(route, { 'if-none-match': unknown })).status).toBe(200);
    },
  );

  it('S-3 a search rejects a text that is too long, before it looks at an entry', async () => {
    const made = await timesMade('ard-search');
    const post = async (body: object): Promise<number> =>
      (await api.call('POST', '/ard/search', { key: null, body })).status;
    expect(await post({ query: { text: 'x'.repeat(2_049) } })).toBe(400);
    expect(await post({ query: { text: 'x', filter: { tags: Array.from({ length: 101 }, String) } } })).toBe(400);
    expect(await post({ ...SEARCH, pageSize: 101 })).toBe(400);
    expect(await timesMade('ard-search')).toBe(made);
  });
});

describe('the limit of public routes', () => {
  afterEach(async () => await api.stop());

  it('S-3 every public route except /health/* returns 429 beyond the limit of an address, while heartbeats of others succeed', async () => {
    await start({ ROLLCALL_PUBLIC_RATE_LIMIT: '1' });
    const { agentId, leaseToken } = await api.given.agent({ agentId: 'beating' });
    for (const route of routes) {
      const cost = PUBLIC[route]?.cost ?? 1;
      const beats = Array.from(
        { length: 10 },
        async () =>
          await api.call('POST', `/v1/agents/${agentId}/heartbeat`, { key: leaseToken, body: { generation: 1 } }),
      );
      const asked = Array.from({ length: 30 }, async () => await ask(route));
      const [replies, answers] = await Promise.all([Promise.all(asked), Promise.all(beats)]);
      const rejected = replies.filter(({ status }) => status === 429);
      expect({ route, rejects: rejected.length > 0 }).toEqual({ route, rejects: cost > 0 });
      for (const { headers } of rejected) expect(headers.get('retry-after')).toBe('1');
      expect({ route, beats: new Set(answers.map(({ status }) => status)) }).toEqual({ route, beats: new Set([200]) });
    }
  });

  it('S-3 the limit counts an address and not the requests with a credential', async () => {
    await start({ ROLLCALL_PUBLIC_RATE_LIMIT: '1', ROLLCALL_TRUSTED_PROXIES: '127.0.0.0/8' });
    const from = async (address: string): Promise<number> =>
      (await ask('GET /openapi.json', { 'x-forwarded-for': address })).status;
    const same = await Promise.all(Array.from({ length: 20 }, async () => await from('192.0.2.1')));
    expect(new Set(same)).toEqual(new Set([200, 429]));
    expect(await from('192.0.2.2')).toBe(200);
    const mine = await Promise.all(Array.from({ length: 20 }, async () => await api.call('GET', '/v1/me')));
    expect(new Set(mine.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('S-3 a search finds an agent that has just registered, and no longer finds what an agent no longer claims', async () => {
    api = await startApi(CATALOG, { constants: { catalog: { refresh: 0 } } });
    const labels = { visibility: 'public' };
    const found = async (): Promise<unknown[]> => {
      const { body } = await api.call<{ results: unknown[] }>('POST', '/ard/search', { key: null, body: SEARCH });
      return body.results;
    };
    expect(await found()).toEqual([]);
    await api.given.agent({ agentId: 'forecaster', capabilities: ['weather.forecast'], labels });
    expect(await found()).toMatchObject([{ displayName: 'swarm-builder', score: 100 }]);
    await api.call('PATCH', '/v1/agents/forecaster', { body: { capabilities: ['code.review'] } });
    expect(await found()).toEqual([]);
  });
});
