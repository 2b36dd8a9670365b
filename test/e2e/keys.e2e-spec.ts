import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

interface Key {
  id: string;
  key: string;
  name: string;
  status: string;
  roles: string[];
  replacedBy: string | null;
}

let api: TestApi;
beforeEach(async () => void (api = await startApi()));
afterEach(async () => await api.stop());

async function issue(name = 'ci', roles = ['operator'], more = {}): Promise<Key> {
  const { status, body } = await api.call<Key>('POST', '/v1/keys', { body: { name, roles, ...more } });
  expect(status).toBe(201);
  return body;
}

describe('API keys', () => {
  it('a key is shown once, stored hashed, and accepted', async () => {
    const { id, key } = await issue('deployer', ['viewer']);
    expect(key).toMatch(new RegExp(`^rk_${id}_[\\w-]{43}$`));
    expect(await api.call('GET', '/v1/me', { key })).toMatchObject({
      status: 200,
      body: { id: `key:${id}`, roles: ['viewer'] },
    });
    expect(JSON.stringify((await api.call('GET', `/v1/keys/${id}`)).body)).not.toContain(key);
    const rows = await api.database.db.query<{ row: string }>('SELECT api_key::text AS row FROM api_key');
    expect(rows.map(({ row }) => row).join()).not.toContain(key.slice(14));
  });

  it('rejects a missing, unknown or malformed key, and the response names the expected scheme', async () => {
    for (const key of [null, 'rk_nope_nope', 'a.b.c', 'x y']) {
      const answer = await api.call('GET', '/v1/me', { key });
      expect(answer).toMatchObject({ status: 401, body: { code: 'UNAUTHENTICATED' } });
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    }
    const basic = await api.call('GET', '/v1/me', { key: null, headers: { authorization: 'Basic YTpi' } });
    expect(basic.status).toBe(401);
  });

  it('a key allows only the permissions of its roles', async () => {
    for (const role of ['operator', 'agent', 'caller', 'viewer'] as const) {
      const key = await api.given.key(role);
      expect((await api.call('GET', '/v1/me', { key })).status).toBe(200);
      expect(await api.call('POST', '/v1/keys', { key, body: { name: 'x', roles: ['admin'] } })).toMatchObject({
        status: 403,
        body: { code: 'FORBIDDEN' },
      });
    }
  });

  it('lists keys newest first, in pages without duplicates or gaps', async () => {
    for (let index = 0; index < 5; index++) await issue(`key-${index}`);
    const names: string[] = [];
    let cursor: string | null = '';
    do {
      const query: string = cursor ? `&cursor=${cursor}` : '';
      const page = await api.call<{ items: Key[]; nextCursor: string | null }>('GET', `/v1/keys?limit=2${query}`);
      names.push(...page.body.items.map((item) => item.name));
      cursor = page.body.nextCursor;
    } while (cursor);
    expect(names).toEqual(['key-4', 'key-3', 'key-2', 'key-1', 'key-0', 'admin']);
  });

  it('rejects an expired key', async () => {
    const { id, key } = await issue('short', ['viewer'], { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    expect((await api.call('GET', '/v1/me', { key })).status).toBe(200);
    await api.database.db.query(
      `UPDATE api_key SET expires_at = clock_timestamp() - interval '1 second' WHERE id = $1`,
      [id],
    );
    const other = await api.replica();
    expect((await other.call('GET', '/v1/me', { key })).status).toBe(401);
    expect(await api.call('GET', `/v1/keys/${id}`)).toMatchObject({ body: { status: 'expired' } });
    await other.stop();
  });

  it.each(['2020-01-01T00:00:00Z', '2027-02-31T00:00:00Z', '2027-06-30', '+275760-09-13T00:00:00.000Z', 1_900_000_000])(
    'rejects the expiry %j for a new key',
    async (expiresAt) => {
      const body = { name: 'late', roles: ['viewer'], expiresAt };
      expect(await api.call('POST', '/v1/keys', { body })).toMatchObject({
        status: 400,
        body: { code: 'VALIDATION_FAILED' },
      });
    },
  );

  it('a rotated key is valid during the overlap, and the new key is valid immediately', async () => {
    const old = await issue('rotating', ['viewer']);
    const rotated = await api.call<Key>('POST', `/v1/keys/${old.id}/rotate`, { body: { overlapSeconds: 3600 } });
    expect(rotated).toMatchObject({ status: 201, body: { name: 'rotating', roles: ['viewer'] } });
    expect((await api.call('GET', '/v1/me', { key: old.key })).status).toBe(200);
    expect((await api.call('GET', '/v1/me', { key: rotated.body.key })).status).toBe(200);
    expect(await api.call('GET', `/v1/keys/${old.id}`)).toMatchObject({ body: { replacedBy: rotated.body.id } });
    await api.call('POST', `/v1/keys/${rotated.body.id}/rotate`, { body: { overlapSeconds: 0 } });
    expect((await api.call('GET', '/v1/me', { key: rotated.body.key })).status).toBe(401);
    const audit = await api.call<{ items: unknown[] }>('GET', `/v1/audit?action=key.rotated&target=${old.id}`);
    expect(audit.body.items[0]).toMatchObject({ details: { overlapSeconds: 3600, replacedBy: rotated.body.id } });
  });

  it('a revoked key is rejected immediately on this replica, and shortly after on all others', async () => {
    const { id, key } = await issue();
    const other = await api.replica();
    expect((await other.call('GET', '/v1/me', { key })).status).toBe(200);
    expect(await api.call('DELETE', `/v1/keys/${id}`)).toMatchObject({ status: 200, body: { status: 'revoked' } });
    expect((await api.call('GET', '/v1/me', { key })).status).toBe(401);
    await until(
      'the other replica rejects the key',
      async () => (await other.call('GET', '/v1/me', { key })).status === 401,
    );
    expect(await api.call('DELETE', `/v1/keys/${id}`)).toMatchObject({ status: 409, body: { code: 'KEY_REVOKED' } });
    await other.stop();
  });

  it('the last admin key cannot be revoked, even when two admins revoke each other concurrently', async () => {
    const first = (await api.call<{ id: string }>('GET', '/v1/me')).body.id.slice(4);
    expect(await api.call('DELETE', `/v1/keys/${first}`)).toMatchObject({
      status: 409,
      body: { code: 'LAST_ADMIN_KEY' },
    });
    const second = await issue('second', ['admin']);
    const answers = await Promise.all([
      api.call('DELETE', `/v1/keys/${second.id}`),
      api.call('DELETE', `/v1/keys/${first}`, { key: second.key }),
    ]);
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1);
  });

  it('a key can be rotated only once', async () => {
    const old = await issue('once', ['viewer']);
    expect((await api.call('POST', `/v1/keys/${old.id}/rotate`)).status).toBe(201);
    expect(await api.call('POST', `/v1/keys/${old.id}/rotate`)).toMatchObject({
      status: 409,
      body: { code: 'KEY_NOT_ACTIVE' },
    });
  });

  it('a key that rotates itself stays valid long enough to repeat the request', async () => {
    const me = (await api.call<{ id: string }>('GET', '/v1/me')).body.id.slice(4);
    const withoutOverlap = await api.call('POST', `/v1/keys/${me}/rotate`, { body: { overlapSeconds: 0 } });
    expect(withoutOverlap).toMatchObject({ status: 400, body: { errors: [{ field: 'overlapSeconds' }] } });
    const headers = { 'idempotency-key': 'rotate-myself' };
    const first = await api.call('POST', `/v1/keys/${me}/rotate`, { headers });
    expect(first.status).toBe(201);
    expect((await api.call('POST', `/v1/keys/${me}/rotate`, { headers })).body).toEqual(first.body);
  });

  it('an admin key cannot be revoked if all other admin keys have an expiry', async () => {
    const me = (await api.call<{ id: string }>('GET', '/v1/me')).body.id.slice(4);
    await issue('ends soon', ['admin'], { expiresAt: new Date(Date.now() + 60_000).toISOString() });
    expect(await api.call('DELETE', `/v1/keys/${me}`)).toMatchObject({ status: 409, body: { code: 'LAST_ADMIN_KEY' } });
    const successor = await api.call<Key>('POST', `/v1/keys/${me}/rotate`);
    const revoked = await api.call('DELETE', `/v1/keys/${successor.body.id}`);
    expect(revoked).toMatchObject({ status: 409, body: { code: 'LAST_ADMIN_KEY' } });
  });

  it('answers requests for an unknown key with 404', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/rotate'],
    ] as const) {
      expect(await api.call(method, `/v1/keys/nope${path}`)).toMatchObject({
        status: 404,
        body: { code: 'KEY_NOT_FOUND' },
      });
    }
  });
});

describe('the rate limit', () => {
  it('the rate limit applies to each credential separately, and returns the time to retry', async () => {
    const limited = await startApi({ ROLLCALL_RATE_LIMIT: '20' });
    const other = await limited.given.key('viewer');
    const rejected: Answer[] = [];
    await until('a request is rejected', async () => {
      const answers = await Promise.all(Array.from({ length: 30 }, async () => await limited.call('GET', '/v1/me')));
      rejected.push(...answers.filter(({ status }) => status === 429));
      return rejected.length > 0;
    });
    expect(rejected[0]).toMatchObject({ body: { code: 'RATE_LIMITED' } });
    expect(rejected[0]?.headers.get('retry-after')).toBe('1');
    expect((await limited.call('GET', '/v1/me', { key: other })).status).toBe(200);
    await limited.stop();
  });

  it('requests for a namespace that does not exist count against the rate limit, because each needs a look-up', async () => {
    const limited = await startApi({ ROLLCALL_RATE_LIMIT: '20' });
    const ask = async (index: number): Promise<number> =>
      (await limited.call('GET', '/v1/me', { headers: { 'rollcall-namespace': `no-such-${index}` } })).status;
    const seen = new Set<number>();
    await until('a request is rejected by the rate limit', async () => {
      for (const status of await Promise.all(Array.from({ length: 30 }, async (_, index) => await ask(index))))
        seen.add(status);
      return seen.has(429);
    });
    expect(seen).toEqual(new Set([404, 429]));
    await limited.stop();
  });
});

describe('the audit log', () => {
  it('the audit log contains every successful administrative action with its actor', async () => {
    const { id } = await issue('audited', ['viewer']);
    await api.call('POST', '/v1/keys', { body: { name: 'bad', roles: ['nope'] } });
    await api.call('DELETE', '/v1/keys/nope');
    await api.call('DELETE', `/v1/keys/${id}`, { headers: { 'x-request-id': 'the-revocation' } });
    const { body } = await api.call<{ items: Record<string, unknown>[] }>('GET', '/v1/audit');
    const me = (await api.call('GET', '/v1/me')).body['id'];
    expect(body.items).toHaveLength(2);
    expect(body.items[0]).toMatchObject({
      action: 'key.revoked',
      target: id,
      actorId: me,
      requestId: 'the-revocation',
      ip: '127.0.0.1',
    });
    expect(body.items[1]).toMatchObject({
      action: 'key.issued',
      target: id,
      details: { name: 'audited', roles: ['viewer'] },
    });
  });

  it('filters the audit log by action and target', async () => {
    const { id } = await issue('one');
    await issue('two');
    const found = await api.call<{ items: unknown[] }>('GET', `/v1/audit?action=key.issued&target=${id}`);
    expect(found.body.items).toHaveLength(1);
    expect((await api.call<{ items: unknown[] }>('GET', '/v1/audit?action=nothing')).body.items).toHaveLength(0);
  });

  it('the audit log cannot be changed, not even with SQL', async () => {
    await issue();
    for (const sql of ['UPDATE audit_entry SET action = $1', 'DELETE FROM audit_entry WHERE action <> $1']) {
      await expect(api.database.db.query(sql, ['x'])).rejects.toThrow('append-only');
    }
    await expect(api.database.db.query('TRUNCATE audit_entry')).rejects.toThrow('append-only');
  });
});
