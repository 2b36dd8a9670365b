import { until } from '#rollcall/test-support';
import {
  A2A_CARD,
  Catalogs,
  type Entry,
  entryFaults,
  entryPath,
  FORECASTER,
  type Manifest,
  PUBLIC,
  URL_BASE,
} from '../support/catalogs.js';

let catalogs: Catalogs;
beforeAll(async () => void (catalogs = await Catalogs.start()));
afterAll(async () => await catalogs.stop());

describe('ARD: the checks of the conformance tool', () => {
  it('manifest: each replica returns JSON with a list of entries, and each entry passes all checks', async () => {
    for (const replica of [catalogs.api, catalogs.other]) {
      const { status, body, headers } = await catalogs.get<Manifest>('/.well-known/ard.json', replica);
      expect(status).toBe(200);
      expect(headers.get('content-type')).toContain('application/json');
      expect(Object.keys(body)).toEqual(['entries']);
      expect(body.entries).toHaveLength(7);
      expect(body.entries.flatMap(entryFaults)).toEqual([]);
    }
  });

  it('publisher: the identifiers contain the host of the public URL, and one entry has the base URL of the registry', async () => {
    const { entries } = (await catalogs.get<Manifest>('/.well-known/ard.json')).body;
    expect(new Set(entries.map(({ identifier }) => identifier.split(':')[2]))).toEqual(new Set(['fleet.example.com']));
    const registries = entries.filter(({ type }) => type === 'application/ai-registry+json');
    expect(registries.map((one) => one['url'])).toEqual([`${URL_BASE}/ard`]);
    expect(await catalogs.get('/ard')).toMatchObject({
      status: 200,
      body: { url: `${URL_BASE}/ard`, specVersion: '0.91' },
    });
  });

  it('registry: GET /agents returns items', async () => {
    const { status, body } = await catalogs.list();
    expect(status).toBe(200);
    expect(body.items.flatMap(entryFaults)).toEqual([]);
  });

  it('registry: POST /search returns results with identifier, integer score from 0 to 100, and source', async () => {
    const query = { text: 'weather forecast tools', filter: { type: ['application/mcp-server-card+json'] } };
    const probe = await catalogs.post('/ard/search', { query, federation: 'none', pageSize: 2 });
    expect(probe).toMatchObject({ status: 200, body: { results: [] } });
    const { results } = await catalogs.search('weather forecast');
    expect(results.length).toBeGreaterThan(0);
    for (const { identifier, score, source } of results) {
      expect(identifier).toMatch(/^urn:air:/);
      expect(Number.isInteger(score) && score >= 0 && score <= 100).toBe(true);
      expect(source).toBe(`${URL_BASE}/ard`);
    }
  });

  it('registry: GET /agents/{identifier} returns exactly the entry, without the fields of a search', async () => {
    for (const { identifier } of (await catalogs.list()).body.items) {
      const { status, body } = await catalogs.get<Entry>(entryPath(identifier));
      expect({ status, identifier: body.identifier }).toEqual({ status: 200, identifier });
      expect(entryFaults(body)).toEqual([]);
      expect(body).not.toHaveProperty('score');
      expect(body).not.toHaveProperty('source');
    }
  });

  it.each([
    ['an unknown identifier', 'urn%3Aair%3Aard-conformance.invalid%3Aprobe%3Anot-found', 404, 'NOT_FOUND'],
    ['an identifier that is not encoded', 'urn:air:fleet.example.com:agent:absent', 404, 'NOT_FOUND'],
    ['an agent that is not public', 'urn%3Aair%3Afleet.example.com%3Aagent%3Asecret', 404, 'NOT_FOUND'],
    ['an identifier in upper case', encodeURIComponent(FORECASTER.toUpperCase()), 400, 'INVALID_ARGUMENT'],
    ['a malformed identifier', 'not-a-valid-ard-urn', 400, 'INVALID_ARGUMENT'],
    [
      'an identifier that is encoded twice',
      encodeURIComponent(encodeURIComponent(FORECASTER)),
      400,
      'INVALID_ARGUMENT',
    ],
    ['an identifier with a slash', 'urn%3Aair%3Aa.b%3Ac%2Fd', 400, 'INVALID_ARGUMENT'],
    ['an identifier with a NUL', 'urn%3Aair%3Aa.b%3Ac%00', 400, 'INVALID_ARGUMENT'],
    ['an invalid encoding', 'urn%3Aair%3Aa.b%3A%zz', 400, 'INVALID_ARGUMENT'],
    ['an identifier that is too long', `urn%3Aair%3Aa.b%3A${'c'.repeat(290)}`, 400, 'INVALID_ARGUMENT'],
  ])('registry: %s gets an error in the error envelope of ARD', async (_case, path, status, errorCode) => {
    const answer = await catalogs.get<Record<string, unknown>>(`/ard/agents/${path}`);
    expect(answer).toMatchObject({ status, body: { errorCode, message: expect.any(String) as string } });
    expect(Object.keys(answer.body)).toEqual(['errorCode', 'message']);
  });

  it('registry: POST /explore returns facets', async () => {
    const body = { query: { text: 'weather' }, resultType: { facets: [{ field: 'type' }] } };
    const answer = await catalogs.post<Record<string, unknown>>('/ard/explore', body);
    expect(answer).toMatchObject({
      status: 200,
      body: { resultType: 'facets', facets: { type: { buckets: [{ value: A2A_CARD, count: 1 }] } } },
    });
  });
});

describe('the registry of ARD', () => {
  it('S3.12 an entry has the facts of the agent and its live state, and no internal facts', async () => {
    const { body } = await catalogs.get<Entry>(entryPath(FORECASTER));
    expect(body).toMatchObject({
      '@context': ['https://agenticresourcediscovery.org/context/v1', { rollcall: 'urn:rollcall:catalog:v1:' }],
      identifier: FORECASTER,
      displayName: 'Forecaster',
      type: A2A_CARD,
      url: `${URL_BASE}/ard/agents/${encodeURIComponent(FORECASTER)}/agent-card.json`,
      description: 'Makes weather forecasts.',
      version: '2.1.0',
      capabilities: ['weather.forecast', 'weather.history'],
      tags: ['weather', 'forecast', 'history'],
      representativeQueries: ['Will it rain?', 'How warm is it?'],
      'rollcall:status': 'active',
      'rollcall:circuit': 'closed',
      'rollcall:routable': true,
      'rollcall:usdPerTask': 0.25,
      'rollcall:load': 0,
    });
    expect(JSON.stringify(body)).not.toMatch(/10\.9\.8\.7|visibility|key:/);
  });

  it('S3.12 the description of an agent follows its definition and its card', async () => {
    const { api } = catalogs;
    const define = async (method: string, path: string, description: string): Promise<void> => {
      const content = { description, instructions: 'Guide.' };
      await api.call(method, `/v1/definitions${path}`, { body: { ...(path === '' && { name: 'guide' }), content } });
    };
    const shows = async (description: string): Promise<void> =>
      await until(`the catalog shows "${description}"`, async () => {
        const path = entryPath('urn:air:fleet.example.com:agent:guide');
        return (await catalogs.get<Entry>(path)).body['description'] === description;
      });
    await define('POST', '', 'Guides visitors.');
    await api.call('POST', '/v1/runtime/agents', { body: { definition: 'guide' } });
    await api.call('PATCH', '/v1/agents/guide', { body: { labels: PUBLIC } });
    await shows('Guides visitors.');
    await define('PUT', '/guide', 'Guides visitors and guests.');
    await shows('Guides visitors and guests.');
    await api.call('PATCH', '/v1/agents/guide', { body: { agentCard: { description: 'Shows the way.' } } });
    await shows('Shows the way.');
    await api.call('DELETE', '/v1/runtime/agents/guide');
    await catalogs.listed(7);
  });

  it('S3.12 the url of an entry leads to the card of the agent, which everyone can read', async () => {
    const { body: entry } = await catalogs.get<Entry>(entryPath(FORECASTER));
    const { status, body } = await catalogs.get(String(entry['url']).slice(URL_BASE.length));
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { name: 'Forecaster', supportedInterfaces: [{ url: `${URL_BASE}/a2a/agents/forecaster` }, {}, {}] },
    });
    const hidden = await catalogs.get(
      `/ard/agents/${encodeURIComponent('urn:air:fleet.example.com:agent:secret')}/agent-card.json`,
    );
    expect(hidden).toMatchObject({ status: 404, body: { errorCode: 'NOT_FOUND' } });
  });

  it('agents of two namespaces, and ids with colons and capitals, have their own identifiers', async () => {
    const { items } = (await catalogs.list()).body;
    expect(items.map(({ identifier }) => identifier).filter((one) => one.includes(':agent'))).toEqual([
      'urn:air:fleet.example.com:agent.team-a:forecaster',
      'urn:air:fleet.example.com:agent:Weather_Station.1',
      FORECASTER,
      expect.stringMatching(/^urn:air:fleet\.example\.com:agent:team-Builder-:[0-9a-f]{16}$/),
    ]);
  });

  it('a search orders by relevance, and finds no agent that is not public', async () => {
    const { results } = await catalogs.search('I need an agent for a weather forecast');
    expect(results.map(({ displayName, score }) => [displayName, score])).toEqual([['Forecaster', 100]]);
    const scores = (await catalogs.search('build the registry')).results.map(({ displayName, score }) => [
      displayName,
      score,
    ]);
    expect(scores).toEqual([
      ['Builder', 50],
      ['Rollcall registry', 50],
      ['Rollcall', 30],
      ['Rollcall MCP server', 30],
    ]);
    expect(results[0]).not.toHaveProperty('representativeQueries');
    expect((await catalogs.search('nothing like this')).results).toEqual([]);
    expect((await catalogs.search('weather', { federation: 'referrals' })).referrals).toEqual([]);
  });

  it('a filter can contain live facts, under any prefix, and all its terms must match', async () => {
    const named = async (filter: object): Promise<string[]> => {
      const query = { text: 'registered', '@context': { live: 'urn:rollcall:catalog:v1:' }, filter };
      const { results } = (await catalogs.post('/ard/search', { query })).body;
      return results.map(({ displayName }) => displayName).toSorted();
    };
    expect(await named({ tags: ['measure', 'build'] })).toEqual(['Builder', 'Station']);
    expect(await named({ tags: ['measure', 'build'], capabilities: 'code.build' })).toEqual(['Builder']);
    expect(await named({ 'live:namespace': ['team-a'] })).toEqual(['Team']);
    expect(await named({ 'trustManifest.attestations.type': ['SOC2-Type2'] })).toEqual([]);
  });

  it('facets have a limit, a minimum count, and the number of entries in the buckets that are left out', async () => {
    const facets = [{ field: 'type', limit: 1 }, { field: 'tags', minCount: 2 }, { field: 'rollcall:status' }];
    const { body } = await catalogs.post('/ard/explore', { resultType: { facets } });
    expect(body).toMatchObject({
      facets: {
        type: { buckets: [{ value: A2A_CARD, count: 5 }], otherCount: 2 },
        'rollcall:status': { buckets: [{ value: 'active', count: 4 }] },
      },
    });
  });

  it('pages contain every entry once, even if an agent leaves between two pages', async () => {
    const names: string[] = [];
    const gone = await catalogs.api.given.agent({ agentId: 'aaa', name: 'aaa', labels: PUBLIC });
    await catalogs.listed(8);
    let token = '';
    do {
      const { body } = await catalogs.list(`?pageSize=2&orderBy=displayName%20DESC${token}`);
      if (names.length === 0) {
        await catalogs.api.call('DELETE', `/v1/agents/${gone.agentId}`);
        await catalogs.listed(7);
      }
      names.push(...body.items.map(({ displayName }) => displayName));
      token = body.pageToken === undefined ? '' : `&pageToken=${body.pageToken}`;
    } while (token !== '');
    expect(names).toEqual([
      'Team',
      'Station',
      'Rollcall registry',
      'Rollcall MCP server',
      'Rollcall',
      'Forecaster',
      'Builder',
    ]);
  });

  it('pages of a search continue after the last result', async () => {
    const all = (await catalogs.search('rollcall', { pageSize: 100 })).results.map(({ identifier }) => identifier);
    const found: string[] = [];
    let pageToken: string | undefined;
    do {
      const page = await catalogs.search('rollcall', { pageSize: 2, pageToken });
      found.push(...page.results.map(({ identifier }) => identifier));
      ({ pageToken } = page);
    } while (pageToken !== undefined);
    expect(found.length).toBeGreaterThan(3);
    expect(found).toEqual(all);
  });

  it.each([
    'pageSize=0',
    'pageSize=101',
    'pageSize=NaN',
    'pageSize=1&pageSize=2',
    'pageToken=forged',
    'filter=x',
    'orderBy=constructor',
    'unknown=1',
  ])('a list with %s is rejected', async (query) => {
    expect(await catalogs.list(`?${query}`)).toMatchObject({ status: 400, body: { errorCode: 'INVALID_ARGUMENT' } });
  });

  it.each([
    undefined,
    '{',
    { query: { text: 'a', filter: { colour: ['red'] } } },
    { query: { text: 'a' }, pageToken: 'x' },
  ])('the search %j is rejected', async (body) => {
    const answer = await catalogs.post('/ard/search', body);
    expect(answer).toMatchObject({ status: 400, body: { errorCode: 'INVALID_ARGUMENT' } });
  });

  it('a token of another search and a body that is too large are rejected', async () => {
    const { pageToken } = await catalogs.search('rollcall', { pageSize: 1 });
    const foreign = await catalogs.post('/ard/search', { query: { text: 'weather' }, pageToken });
    expect(foreign).toMatchObject({ status: 400, body: { errorCode: 'INVALID_ARGUMENT' } });
    const large = await catalogs.post('/ard/search', { query: { text: 'a', filter: { type: 'x'.repeat(20_000) } } });
    expect(large).toMatchObject({ status: 413, body: { errorCode: 'INVALID_ARGUMENT' } });
  });
});
