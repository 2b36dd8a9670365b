import type { Answer, CallOptions } from '../support/call.js';
import { startApi, type TestApi } from '../support/api.js';
import { registrationBody } from '../support/given.js';

let api: TestApi;
let other: TestApi;
/** Admin keys of the two teams. */
let keyOfA: string;
let keyOfB: string;

beforeAll(async () => {
  api = await startApi();
  other = await api.replica();
  for (const name of ['team-a', 'team-b']) await create(name);
  keyOfA = await api.issueKeyIn('team-a', 'admin');
  keyOfB = await api.issueKeyIn('team-b', 'admin');
});
afterAll(async () => {
  await other.stop();
  await api.stop();
});

const create = async (name: string, more: object = {}): Promise<Answer> =>
  await api.call('POST', '/v1/namespaces', { body: { name, ...more } });
const register = async (key: string, body: object = {}, options: CallOptions = {}): Promise<Answer> =>
  await api.call('POST', '/v1/agents', { key, body: registrationBody(body), ...options });
const inNamespace = (namespace: string): CallOptions => ({ headers: { 'rollcall-namespace': namespace } });

describe('namespaces', () => {
  it('creates, describes, lists, changes and deletes a namespace', async () => {
    const { status, body } = await create('search', { description: 'Search team', limits: { agents: 10 } });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        name: 'search',
        description: 'Search team',
        limits: { agents: 10, keys: 0 },
        use: { agents: 0, keys: 0 },
      },
    });
    const names = async (): Promise<unknown[]> =>
      (await api.call<{ items: { name: string }[] }>('GET', '/v1/namespaces')).body.items.map(({ name }) => name);
    expect(await names()).toEqual(['default', 'search', 'team-a', 'team-b']);
    const changed = await api.call('PATCH', '/v1/namespaces/search', { body: { limits: { keys: 2 } } });
    expect(changed.body).toMatchObject({ description: 'Search team', limits: { agents: 10, keys: 2 } });
    expect((await api.call('DELETE', '/v1/namespaces/search')).status).toBe(204);
    expect(await names()).not.toContain('search');
    expect(await create('search')).toMatchObject({ status: 409, body: { code: 'NAMESPACE_EXISTS' } });
    const path = '/v1/namespaces/search';
    expect(await api.call('GET', path)).toMatchObject({ status: 404, body: { code: 'NAMESPACE_NOT_FOUND' } });
  });

  it.each(['Team', '-a', 'a_b', '*', '', 'a'.repeat(64), 'a/b'])('rejects the name %j', async (name) => {
    expect(await create(name)).toMatchObject({ status: 400, body: { code: 'VALIDATION_FAILED' } });
  });

  it('deletes only empty namespaces, and never the namespace `default`', async () => {
    expect(await api.call('DELETE', '/v1/namespaces/team-a')).toMatchObject({
      status: 409,
      body: { code: 'NAMESPACE_NOT_EMPTY', contains: { keys: 1 } },
    });
    expect(await api.call('DELETE', '/v1/namespaces/default')).toMatchObject({
      status: 409,
      body: { code: 'NAMESPACE_PERMANENT' },
    });
  });

  it('an administrator of one namespace sees only that namespace, and cannot list, create or delete namespaces', async () => {
    expect((await api.call('GET', '/v1/namespaces/team-a', { key: keyOfA })).status).toBe(200);
    const foreign = await api.call('GET', '/v1/namespaces/team-b', { key: keyOfA });
    const missing = await api.call('GET', '/v1/namespaces/no-such', { key: keyOfA });
    expect(foreign.status).toBe(404);
    expect(String(foreign.body['detail']).replace('team-b', 'no-such')).toBe(missing.body['detail']);
    expect((await api.call('GET', '/v1/namespaces', { key: keyOfA })).status).toBe(403);
    expect((await api.call('POST', '/v1/namespaces', { key: keyOfA, body: { name: 'mine' } })).status).toBe(403);
    expect((await api.call('DELETE', '/v1/namespaces/team-b', { key: keyOfA })).status).toBe(403);
  });
});

describe('the namespace of a request', () => {
  const me = async (options: CallOptions = {}): Promise<Answer> => await api.call('GET', '/v1/me', options);

  it('is the only namespace of the key; for a key for all namespaces, it is `default` or the value of the header', async () => {
    expect((await me({ key: keyOfA })).body).toMatchObject({ namespace: 'team-a', namespaces: ['team-a'] });
    expect((await me()).body).toMatchObject({ namespace: 'default', namespaces: ['*'] });
    expect((await me(inNamespace('team-b'))).body).toMatchObject({ namespace: 'team-b' });
    expect((await me(inNamespace('*'))).body).toMatchObject({ namespace: '*' });
  });

  it('is not found if it does not exist or if the key gives no access to it', async () => {
    for (const namespace of ['team-b', 'no-such', 'default', '*', 'Ä', '../x', 'x'.repeat(500)]) {
      const answer = await me({ key: keyOfA, ...inNamespace(encodeURIComponent(namespace)) });
      expect({ namespace, ...answer }).toMatchObject({ status: 404, body: { code: 'NAMESPACE_NOT_FOUND' } });
    }
    expect(await me(inNamespace('no-such'))).toMatchObject({ status: 404, body: { code: 'NAMESPACE_NOT_FOUND' } });
  });

  it('a new namespace can be used on another replica immediately', async () => {
    await create('fresh');
    expect((await other.call('GET', '/v1/me', { key: api.adminKey, ...inNamespace('fresh') })).status).toBe(200);
  });
});

describe('keys of a namespace', () => {
  const issue = async (key: string | undefined, body: object, options: CallOptions = {}): Promise<Answer> =>
    await api.call('POST', '/v1/keys', { key, body: { name: 'x', roles: ['viewer'], ...body }, ...options });

  it('belong to the namespace of the request, and only a key for all namespaces issues keys for other namespaces', async () => {
    expect((await issue(keyOfA, {})).body).toMatchObject({ namespace: 'team-a' });
    expect((await issue(undefined, {}, inNamespace('team-b'))).body).toMatchObject({ namespace: 'team-b' });
    expect((await issue(undefined, { namespace: '*' })).body).toMatchObject({ namespace: '*' });
    for (const namespace of ['team-b', '*'])
      expect(await issue(keyOfA, { namespace })).toMatchObject({ status: 404, body: { code: 'NAMESPACE_NOT_FOUND' } });
    expect(await issue(undefined, { namespace: 'no-such' })).toMatchObject({ status: 404 });
  });

  it('are neither listed nor found nor changed from another namespace', async () => {
    const id = String((await issue(keyOfB, {})).body['id']);
    const { items } = (await api.call<{ items: { namespace: string }[] }>('GET', '/v1/keys', { key: keyOfA })).body;
    expect(new Set(items.map(({ namespace }) => namespace))).toEqual(new Set(['team-a']));
    for (const [method, path, body] of [
      ['GET', `/v1/keys/${id}`, undefined],
      ['DELETE', `/v1/keys/${id}`, undefined],
      ['POST', `/v1/keys/${id}/rotate`, {}],
    ] as const) {
      const answer = await api.call(method, path, { key: keyOfA, body });
      expect({ method, ...answer }).toMatchObject({ status: 404, body: { code: 'KEY_NOT_FOUND' } });
    }
  });
});

describe('agents of a namespace', () => {
  it('have ids of their own: the same agentId exists once in each namespace', async () => {
    const results = [];
    for (const key of [undefined, keyOfA, keyOfB]) {
      const answer = await api.call('POST', '/v1/agents', { key, body: registrationBody({ agentId: 'twin' }) });
      results.push(answer.body);
      expect(answer).toMatchObject({ status: 201, body: { agentId: 'twin', generation: 1 } });
    }
    const namespaces = results.map(({ agent }) => (agent as { namespace: string }).namespace);
    expect(namespaces).toEqual(['default', 'team-a', 'team-b']);
  });

  it('are neither listed nor found nor queried from another namespace', async () => {
    await register(keyOfA, { agentId: 'secret', capabilities: ['only-a'] });
    const listed = await api.call<{ items: { agentId: string; namespace: string }[] }>('GET', '/v1/agents', {
      key: keyOfB,
    });
    expect(new Set(listed.body.items.map(({ namespace }) => namespace))).toEqual(new Set(['team-b']));
    for (const id of ['secret', 'team-a%2Fsecret', 'team-a/secret']) {
      for (const key of [keyOfB, undefined])
        expect((await api.call('GET', `/v1/agents/${id}`, { key })).status).toBe(404);
    }
    const query = { capabilities: ['only-a'], explain: true, fuzzy: true };
    for (const consistency of ['directory', 'strong']) {
      const body = { ...query, consistency };
      const answer = await api.call('POST', '/v1/agents/query', { key: keyOfB, body });
      expect(JSON.stringify(answer.body)).not.toMatch(/secret|similar":\["only-a/);
      const own = await api.call<{ candidates: object[] }>('POST', '/v1/agents/query', { key: keyOfA, body });
      expect(own.body.candidates).toHaveLength(1);
    }
  });

  it('send heartbeats for their own registration and change it, but not a registration with the same agentId in another namespace', async () => {
    const { body } = await register(keyOfA, { agentId: 'beater' });
    await register(keyOfB, { agentId: 'beater' });
    const key = String(body['leaseToken']);
    const beat = { generation: body['generation'] };
    const path = '/v1/agents/beater/heartbeat';
    expect((await api.call('POST', path, { key, body: beat })).status).toBe(200);
    expect((await other.call('POST', path, { key, body: beat })).status).toBe(200);
    const changed = await api.call('PATCH', '/v1/agents/beater', { key, body: { ...beat, name: 'renamed' } });
    expect(changed.body).toMatchObject({ namespace: 'team-a', name: 'renamed' });
    const twin = await api.call('GET', '/v1/agents/beater', { key: keyOfB });
    expect(twin.body).toMatchObject({ namespace: 'team-b', name: 'swarm-builder' });
    expect((await api.call('POST', path, { key, body: beat, ...inNamespace('team-b') })).status).toBe(404);
  });

  it('have circuits and desired states of their own', async () => {
    await register(keyOfA, { agentId: 'shaky' });
    await register(keyOfB, { agentId: 'shaky' });
    for (let failures = 0; failures < 5; failures++)
      await api.call('POST', '/v1/agents/shaky/outcomes', { key: keyOfA, body: { ok: false } });
    await api.call('POST', '/v1/agents/shaky/drain', { key: keyOfA, body: {} });
    expect((await api.call('GET', '/v1/agents/shaky', { key: keyOfA })).body).toMatchObject({
      status: 'draining',
      health: { circuitBreakerState: 'open' },
    });
    expect((await api.call('GET', '/v1/agents/shaky', { key: keyOfB })).body).toMatchObject({
      status: 'active',
      health: { circuitBreakerState: 'closed' },
    });
  });

  it('the audit log of a namespace contains its own actions', async () => {
    const { items } = (await api.call<{ items: { namespace: string }[] }>('GET', '/v1/audit', { key: keyOfA })).body;
    expect(items.length).toBeGreaterThan(0);
    expect(new Set(items.map(({ namespace }) => namespace))).toEqual(new Set(['team-a']));
  });

  it('an action of the platform team is in the audit log of the namespace that it changed, not in `default`', async () => {
    const actions = async (options: CallOptions): Promise<unknown[]> => {
      const { items } = (await api.call<{ items: { action: string; target: string }[] }>('GET', '/v1/audit', options))
        .body;
      return items.map(({ action, target }) => `${action} ${target}`);
    };
    await create('audited');
    const body = { name: 'k', roles: ['operator'], namespace: 'audited' };
    const { id, key } = (await api.call('POST', '/v1/keys', { body })).body;
    expect(await actions({ key: String(key) })).toEqual([`key.issued ${String(id)}`]);
    const ofDefault = await actions({ key: await api.issueKeyIn('default', 'operator') });
    expect(ofDefault.filter((one) => String(one).includes('namespace.'))).toEqual([]);
    expect(ofDefault).not.toContain(`key.issued ${String(id)}`);
    expect(await actions({})).toContain('namespace.created audited');
  });

  it('an Idempotency-Key of one namespace does not replay a response of another namespace', async () => {
    const headers = { 'idempotency-key': 'same-key' };
    const body = registrationBody({ agentId: 'once' });
    const first = await api.call('POST', '/v1/agents', {
      body,
      headers: { ...headers, 'rollcall-namespace': 'team-a' },
    });
    const second = await api.call('POST', '/v1/agents', {
      body,
      headers: { ...headers, 'rollcall-namespace': 'team-b' },
    });
    expect(first.status).toBe(201);
    expect(second).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
  });
});

describe('limits of a namespace', () => {
  it('the limit of live agents is exact, even when registrations arrive at the same time on two replicas', async () => {
    await create('small', { limits: { agents: 5 } });
    const key = await api.issueKeyIn('small', 'admin');
    const attempts = Array.from({ length: 20 }, async (_, index) => {
      const replica = index % 2 === 0 ? api : other;
      return await replica.call('POST', '/v1/agents', { key, body: registrationBody({ agentId: `a-${index}` }) });
    });
    const answers = await Promise.all(attempts);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    const rejected = answers.filter(({ status }) => status !== 201);
    expect(new Set(rejected.map(({ status, body }) => [status, body['code']].join(' ')))).toEqual(
      new Set(['403 NAMESPACE_FULL']),
    );
    const described = await api.call('GET', '/v1/namespaces/small', { key });
    expect(described.body).toMatchObject({ limits: { agents: 5 }, use: { agents: 5, keys: 1 } });
    const left = answers.find(({ status }) => status === 201)?.body['agentId'];
    await api.call('DELETE', `/v1/agents/${String(left)}`, { key });
    expect((await register(key, { agentId: 'next' })).status).toBe(201);
  });

  it('the limit of keys counts active keys; a revoked key no longer counts', async () => {
    await create('two-keys', { limits: { keys: 2 } });
    const issue = async (): Promise<Answer> =>
      await api.call('POST', '/v1/keys', { body: { name: 'k', roles: ['viewer'] }, ...inNamespace('two-keys') });
    const answers = await Promise.all([issue(), issue(), issue(), issue()]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([201, 201, 403, 403]);
    const id = String(answers.find(({ status }) => status === 201)?.body['id']);
    await api.call('DELETE', `/v1/keys/${id}`, inNamespace('two-keys'));
    expect((await issue()).status).toBe(201);
  });

  it('a rotated key counts once, even while its old secret is valid', async () => {
    await create('one-key', { limits: { keys: 1 } });
    const namespace = inNamespace('one-key');
    let { id } = (await api.call('POST', '/v1/keys', { body: { name: 'k', roles: ['viewer'] }, ...namespace })).body;
    for (let rotation = 0; rotation < 3; rotation++) {
      const body = { overlapSeconds: 600 };
      const rotated = await api.call('POST', `/v1/keys/${String(id)}/rotate`, { body, ...namespace });
      expect(rotated.status).toBe(201);
      ({ id } = rotated.body);
    }
    const another = { body: { name: 'other', roles: ['viewer'] }, ...namespace };
    expect(await api.call('POST', '/v1/keys', another)).toMatchObject({
      status: 403,
      body: { code: 'NAMESPACE_FULL' },
    });
  });

  it('an agent registers again although the limit of its namespace was lowered', async () => {
    await create('shrunk');
    const key = await api.issueKeyIn('shrunk', 'admin');
    for (const agentId of ['a', 'b']) await register(key, { agentId });
    await api.call('PATCH', '/v1/namespaces/shrunk', { body: { limits: { agents: 1 } } });
    expect((await register(key, { agentId: 'a', takeover: true })).status).toBe(201);
    expect(await register(key, { agentId: 'c' })).toMatchObject({ status: 403, body: { code: 'NAMESPACE_FULL' } });
  });

  it('treats null like an absent limit', async () => {
    expect((await create('no-limits', { limits: null })).body).toMatchObject({ limits: { agents: 0 } });
    expect((await create('null-limit', { limits: { agents: null, keys: 3 } })).body).toMatchObject({
      limits: { agents: 0, keys: 3 },
    });
    const body = { name: 'k', roles: ['viewer'], namespace: null };
    expect((await api.call('POST', '/v1/keys', { body })).body).toMatchObject({ namespace: 'default' });
  });

  it('the limit of requests per second applies to its own namespace, and to no other namespace', async () => {
    await create('slow', { limits: { requestsPerSecond: 3 } });
    const keys = [await api.issueKeyIn('slow', 'viewer'), await api.issueKeyIn('slow', 'viewer')];
    const codes = async (): Promise<unknown[]> => {
      const calls = Array.from(
        { length: 20 },
        async (_, index) => await api.call('GET', '/v1/me', { key: keys[index % 2] }),
      );
      return (await Promise.all(calls)).map(({ status }) => status);
    };
    expect(await codes()).toContain(429);
    expect((await api.call('GET', '/v1/me', { key: keyOfA })).status).toBe(200);
    await api.call('PATCH', '/v1/namespaces/slow', { body: { limits: { requestsPerSecond: 0 } } });
    expect(await codes()).not.toContain(429);
  });

  it('a registration and the deletion of its namespace never both succeed', async () => {
    for (let round = 0; round < 5; round++) {
      const name = `doomed-${round}`;
      await create(name);
      const registered = register(api.adminKey, { agentId: 'late' }, inNamespace(name));
      const deleted = other.call('DELETE', `/v1/namespaces/${name}`, { key: api.adminKey });
      const [{ status }, { status: deletion }] = await Promise.all([registered, deleted]);
      expect([
        [201, 409],
        [404, 204],
      ]).toContainEqual([status, deletion]);
    }
  });
});
