import { shellVariables } from '../support/doc-example.js';
import type { Answer } from '../support/call.js';
import { cardAt, CatalogHost } from '../support/catalog-host.js';
import {
  A2A_CARD,
  Catalogs,
  entryPath,
  FORECASTER,
  type Manifest,
  PUBLIC,
  type ServerList,
  URL_BASE,
} from '../support/catalogs.js';
import { Reader, stepsOf } from '../support/reader.js';

interface ImportReport {
  registered: number;
  rejected: number;
  skipped: number;
  entries: {
    identifier: string | null;
    outcome: string;
    registration?: Record<string, unknown>;
    problem?: Record<string, unknown>;
  }[];
}

let catalogs: Catalogs;
beforeAll(async () => void (catalogs = await Catalogs.start({ ROLLCALL_EGRESS_ALLOW: '10.9.8.7,127.0.0.1' })));
afterAll(async () => await catalogs.stop());

describe('the AI catalog', () => {
  it('S3.12 lists the same entries as ARD, without the fields that the cards contain', async () => {
    const { body, headers } = await catalogs.get<Manifest & Record<string, unknown>>('/.well-known/ai-catalog.json');
    expect(headers.get('content-type')).toBe('application/ai-catalog+json; charset=utf-8');
    expect(body).toMatchObject({ specVersion: '1.0', host: { displayName: 'fleet.example.com' } });
    const { entries } = (await catalogs.get<Manifest>('/.well-known/ard.json')).body;
    expect(body.entries.map(({ identifier }) => identifier)).toEqual(entries.map(({ identifier }) => identifier));
    expect(body.entries.find(({ identifier }) => identifier === FORECASTER)).toEqual({
      identifier: FORECASTER,
      type: A2A_CARD,
      url: `${URL_BASE}/ard/agents/${encodeURIComponent(FORECASTER)}/agent-card.json`,
      tags: ['weather', 'forecast', 'history'],
      updatedAt: expect.stringMatching(/Z$/) as string,
      publisher: { identifier: 'fleet.example.com', displayName: 'fleet.example.com' },
      extensions: { 'rollcall.live': expect.objectContaining({ status: 'active' }) as object },
    });
  });
});

describe('the MCP registry', () => {
  const servers = async (query = ''): Promise<Answer<ServerList>> => await catalogs.get(`/v0.1/servers${query}`);

  it('S3.12 lists the MCP endpoints of Rollcall and of the public agents', async () => {
    const { body } = await servers();
    expect(body.metadata).toEqual({ count: 5 });
    expect(body.servers.map(({ server }) => [server.name, server['version']])).toEqual([
      [expect.stringMatching(/^com\.example\.fleet\.agent-ids\/team-Builder-\.[0-9a-f]{16}$/), '0.0.0'],
      ['com.example.fleet.agents.team-a/forecaster', '0.0.0'],
      ['com.example.fleet.agents/Weather_Station.1', '0.0.0'],
      ['com.example.fleet.agents/forecaster', '2.1.0'],
      ['com.example.fleet/rollcall', '0.1.0'],
    ]);
    expect(body.servers[3]).toMatchObject({
      server: {
        $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
        title: 'Forecaster',
        description: 'Makes weather forecasts.',
        remotes: [
          {
            type: 'streamable-http',
            url: `${URL_BASE}/mcp/agents/forecaster`,
            headers: [{ name: 'Authorization', isSecret: true }],
          },
        ],
      },
      _meta: { 'io.modelcontextprotocol.registry/official': { status: 'active', isLatest: true } },
    });
  });

  it('P-9 an agent that declares no version has the same version in all catalogs', async () => {
    const { entries } = (await catalogs.get<{ entries: { version?: string }[] }>('/.well-known/ard.json')).body;
    const { servers: listed } = (await servers()).body;
    const versionsOf = (given: (string | undefined)[]): string[] => [...new Set(given.map(String))].toSorted();
    expect(versionsOf(entries.map(({ version }) => version))).toEqual(
      versionsOf(listed.map(({ server }) => String(server['version']))),
    );
  });

  it('S3.12 returns one version of a server, or the latest version', async () => {
    const name = encodeURIComponent('com.example.fleet.agents/forecaster');
    for (const version of ['latest', '2.1.0']) {
      const one = await catalogs.get(`/v0.1/servers/${name}/versions/${version}`);
      expect(one).toMatchObject({ status: 200, body: { server: { version: '2.1.0' } } });
    }
    const versions = await catalogs.get<ServerList>(`/v0.1/servers/${name}/versions`);
    expect(versions.body).toMatchObject({ servers: [{ server: { version: '2.1.0' } }], metadata: { count: 1 } });
    for (const path of [`${name}/versions/9.9.9`, 'com.example%2Fabsent/versions/latest', 'a%2Fb/versions']) {
      const answer = await catalogs.get<Record<string, unknown>>(`/v0.1/servers/${path}`);
      expect(answer).toMatchObject({ status: 404, body: { error: expect.any(String) as string } });
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    }
  });

  it('S3.12 has pages, and can be searched by name and filtered by version and time', async () => {
    const first = (await servers('?limit=3')).body;
    const second = (await servers(`?limit=3&cursor=${first.metadata.nextCursor}`)).body;
    expect([first.servers.length, second.servers.length, second.metadata]).toEqual([3, 2, { count: 2 }]);
    expect((await servers('?search=FORECAST')).body.metadata.count).toBe(2);
    expect((await servers('?version=2.1.0')).body.metadata.count).toBe(1);
    expect((await servers('?version=latest&include_deleted=true')).body.metadata.count).toBe(5);
    expect((await servers('?updated_since=2026-01-01T00:00:00Z')).body.metadata.count).toBe(4);
    expect((await servers('?updated_since=2999-01-01T00:00:00Z')).body.metadata.count).toBe(0);
  });

  it.each(['limit=0', 'limit=101', 'limit=NaN', 'cursor=forged', 'updated_since=yesterday', 'search=a&search=b'])(
    'a list with %s is rejected',
    async (query) => {
      expect(await servers(`?${query}`)).toMatchObject({ status: 400, body: { error: expect.any(String) as string } });
    },
  );
});

describe('all catalogs', () => {
  const DOCUMENTS = [
    '/.well-known/ard.json',
    '/.well-known/ai-catalog.json',
    '/ard',
    '/ard/agents',
    entryPath(FORECASTER),
    `${entryPath(FORECASTER)}/agent-card.json`,
    '/v0.1/servers',
    '/v0.1/servers/com.example.fleet.agents%2Fforecaster/versions',
    '/v0.1/servers/com.example.fleet.agents%2Fforecaster/versions/latest',
  ];

  it.each(DOCUMENTS)(
    '%s has a maximum age, has the same ETag on each replica, and can be read by any web page',
    async (path) => {
      const { status, headers } = await catalogs.get(path);
      expect(status).toBe(200);
      expect(headers.get('cache-control')).toBe('public, max-age=5');
      expect(headers.get('access-control-allow-origin')).toBe('*');
      const etag = headers.get('etag') ?? '';
      expect((await catalogs.get(path, catalogs.other)).headers.get('etag')).toBe(etag);
      expect((await catalogs.get(path, catalogs.other, { 'if-none-match': etag })).status).toBe(304);
      expect((await catalogs.get(path, catalogs.api, { 'if-none-match': '"other"' })).status).toBe(200);
    },
  );

  it('S3.12 without ROLLCALL_CATALOG_LABEL, the catalogs are empty', async () => {
    const off = await catalogs.api.replica({ ROLLCALL_CATALOG_LABEL: '' });
    expect((await catalogs.get('/.well-known/ard.json', off)).body).toEqual({ entries: [] });
    expect((await catalogs.get('/.well-known/ai-catalog.json', off)).body).toMatchObject({
      specVersion: '1.0',
      entries: [],
    });
    expect((await catalogs.get('/v0.1/servers', off)).body).toEqual({ servers: [], metadata: { count: 0 } });
    expect((await catalogs.list('', off)).body).toEqual({ items: [], total: 0 });
    expect((await catalogs.get(entryPath(FORECASTER), off)).status).toBe(404);
    expect((await catalogs.get(`${entryPath(FORECASTER)}/agent-card.json`, off)).status).toBe(404);
    const found = await off.call('POST', '/ard/search', { key: null, body: { query: { text: 'weather' } } });
    expect(found.body).toEqual({ results: [] });
    await off.stop();
  });

  it('S3.12 an agent whose label is removed is no longer listed', async () => {
    const { agentId, generation } = await catalogs.api.given.agent({ agentId: 'shy', name: 'Shy', labels: PUBLIC });
    await catalogs.listed(8);
    await catalogs.api.call('PATCH', `/v1/agents/${agentId}`, { body: { generation, labels: { visibility: null } } });
    await catalogs.listed(7);
  });
});

describe('the tour of docs/catalogs.md', () => {
  it('every command prints the documented output', async () => {
    const replica = await catalogs.api.replica({ ROLLCALL_PUBLIC_URL: 'https://fleet.example.com' });
    const reader = new Reader(shellVariables({ ROLLCALL_URL: replica.url, ROLLCALL_KEY: catalogs.api.adminKey }));
    try {
      const steps = stepsOf('catalogs.md');
      expect(steps.length).toBeGreaterThan(5);
      for (const step of steps) await reader.follow(step);
    } finally {
      reader.stop();
      await replica.stop();
    }
  }, 60_000);
});

describe('the import of agents', () => {
  const CARD = 'application/a2a-agent-card+json';
  const CATALOG = 'application/ai-catalog+json';
  const urn = (name: string): string => `urn:air:example.com:agent:${name}`;
  let host: CatalogHost;
  beforeAll(async () => void (host = await CatalogHost.start()));
  afterAll(async () => await host.stop());

  const run = async (body: object, key?: string): Promise<Answer<ImportReport>> =>
    await catalogs.api.call<ImportReport>('POST', '/v1/agent-imports', { body, key });
  const entry = (name: string, more: object): object => ({
    identifier: urn(name),
    displayName: name,
    type: CARD,
    ...more,
  });
  const outcomes = ({ entries }: ImportReport): unknown[] =>
    entries.map(({ identifier, outcome, problem }) => [identifier, problem?.['code'] ?? outcome]);

  it('S-19 one import sends a limited number of requests to a host, and reports each entry that was not fetched', async () => {
    const entries = Array.from({ length: 300 }, (_, index) =>
      entry(`many-${index}`, { url: `${host.url}/many/${index}` }),
    );
    const nested = { identifier: 'nested', type: CATALOG, url: host.serve('/many.json', { entries: [] }) };
    const before = host.requests.length;
    const { body } = await run({ catalog: { entries: [nested, ...entries] } });
    expect(host.requests.length - before).toBe(50);
    expect(body.entries).toHaveLength(300);
    const refused = body.entries.filter(({ problem }) => JSON.stringify(problem).includes('it was not fetched'));
    expect(refused).toHaveLength(251);
    expect(JSON.stringify(refused[0]?.problem)).toContain('at most 50 requests to 127.0.0.1');
  });

  it('S3.2 registers the cards of a catalog and of its nested catalogs by URL, and reports the result of each entry', async () => {
    const byUrl = host.serve('/cards/one.json', cardAt(`${host.url}/one`, { name: 'One' }));
    const bare = host.serve('/cards/two', cardAt(`${host.url}/two`, { name: 'Two' }));
    const nested = host.serve('/nested.json', {
      entries: [
        entry('three', { data: cardAt(`${host.url}/three`) }),
        { identifier: 'loop', type: CATALOG, url: `${host.url}/ard.json` },
      ],
    });
    const catalogUrl = host.serve('/ard.json', {
      specVersion: '1.0',
      entries: [
        entry('one', { url: byUrl }),
        entry('two', { url: bare, type: `${CARD}; charset=utf-8` }),
        { identifier: 'more', type: CATALOG, url: nested },
        { identifier: 'again', type: CATALOG, url: nested },
        { identifier: 'mcp', type: 'application/mcp-server-card+json', url: 'https://mcp.example.com' },
      ],
    });
    const { status, body } = await run({ catalogUrl, labels: { source: 'example.com' } });
    expect({ status, ...body, entries: outcomes(body) }).toEqual({
      status: 200,
      registered: 3,
      rejected: 0,
      skipped: 1,
      entries: [
        [urn('one'), 'registered'],
        [urn('two'), 'registered'],
        [urn('three'), 'registered'],
        ['mcp', 'skipped'],
      ],
    });
    expect(host.requests.filter((path) => path === '/nested.json' || path === '/ard.json')).toHaveLength(2);
    const [one, two] = body.entries.map(({ registration }) => registration);
    expect(one).toMatchObject({
      leaseToken: expect.stringMatching(/^rl_/) as string,
      agent: { name: 'One', endpoint: byUrl },
    });
    expect(two).toMatchObject({
      agentId: urn('two'),
      agent: { endpoint: `${host.url}/two`, labels: { source: 'example.com' }, capabilities: ['answer', 'questions'] },
    });
  });

  it('S3.2 a second import needs takeover, and replaces the agents', async () => {
    const catalog = { entries: [entry('again', { data: cardAt(`${host.url}/a`) })] };
    expect((await run({ catalog })).body.registered).toBe(1);
    expect(outcomes((await run({ catalog })).body)).toEqual([[urn('again'), 'AGENT_ALREADY_REGISTERED']]);
    const { body } = await run({ catalog, takeover: true });
    expect(body.entries[0]?.registration).toMatchObject({ generation: 2 });
  });

  it('an invalid entry is rejected with all its faults, and does not affect the other entries', async () => {
    const large = host.serve('/large.json', `{"entries":[],"x":"${'x'.repeat(2_000_000)}"}`);
    const { body } = await run({
      catalog: {
        entries: [
          entry('ok', { data: cardAt(`${host.url}/ok`) }),
          { identifier: 7, type: '', url: 'https://a.example', data: {} },
          null,
          entry('both', { url: 'https://a.example', data: {} }),
          entry('card', { data: { name: '' } }),
          entry('no/id', { data: cardAt(`${host.url}/x`) }),
          entry('absent', { url: `${host.url}/absent.json` }),
          entry('internal', { url: 'http://169.254.169.254/card.json' }),
          entry('loopback', { data: cardAt('http://[::1]:9/a2a') }),
          entry('url', { url: 'no url' }),
          { identifier: 'large', type: CATALOG, url: large },
          { identifier: 'deep', type: CATALOG, data: nest(5) },
        ],
      },
    });
    expect(outcomes(body)).toEqual([
      [urn('ok'), 'registered'],
      [null, 'VALIDATION_FAILED'],
      [null, 'VALIDATION_FAILED'],
      [urn('both'), 'VALIDATION_FAILED'],
      [urn('card'), 'VALIDATION_FAILED'],
      [urn('no/id'), 'VALIDATION_FAILED'],
      [urn('absent'), 'VALIDATION_FAILED'],
      [urn('internal'), 'EGRESS_DENIED'],
      [urn('loopback'), 'EGRESS_DENIED'],
      [urn('url'), 'EGRESS_DENIED'],
      ['large', 'VALIDATION_FAILED'],
      ['level', 'VALIDATION_FAILED'],
    ]);
    const faults = body.entries.map(({ problem }) =>
      (problem?.['errors'] as { field: string }[] | undefined)?.map(({ field }) => field),
    );
    expect(faults[1]).toEqual(['entries.1.identifier', 'entries.1.type']);
    expect(faults[4]?.length).toBeGreaterThan(3);
  });

  /** A catalog with nested catalogs. */
  function nest(levels: number): object {
    return { entries: levels === 0 ? [] : [{ identifier: 'level', type: CATALOG, data: nest(levels - 1) }] };
  }

  it.each<[name: string, body: () => object, code: string]>([
    ['no source', () => ({}), 'VALIDATION_FAILED'],
    [
      'two sources',
      () => ({ catalogUrl: 'https://a.example/ard.json', catalog: { entries: [] } }),
      'VALIDATION_FAILED',
    ],
    ['no entries', () => ({ catalog: {} }), 'VALIDATION_FAILED'],
    ['1,001 entries', () => ({ catalog: { entries: Array(1_001).fill(null) } }), 'VALIDATION_FAILED'],
    ['10,000 entries', () => ({ catalog: { entries: Array(10_000).fill(null) } }), 'VALIDATION_FAILED'],
    [
      'a catalog of 10 MB',
      () => ({ catalogUrl: host.serve('/10mb.json', `{"entries":["${'x'.repeat(10_000_000)}"]}`) }),
      'VALIDATION_FAILED',
    ],
    ['a catalog that is not JSON', () => ({ catalogUrl: host.serve('/text.json', 'entries') }), 'VALIDATION_FAILED'],
    ['a catalog that is a list', () => ({ catalogUrl: host.serve('/list.json', []) }), 'VALIDATION_FAILED'],
    ['a catalog that is absent', () => ({ catalogUrl: `${host.url}/none.json` }), 'VALIDATION_FAILED'],
    ['an internal address', () => ({ catalogUrl: 'http://169.254.169.254/ard.json' }), 'EGRESS_DENIED'],
    ['an unknown field', () => ({ catalog: { entries: [] }, url: 'x' }), 'VALIDATION_FAILED'],
  ])('an import with %s is rejected', async (_name, body, code) => {
    expect(await run(body())).toMatchObject({ status: 400, body: { code } });
  });
});
