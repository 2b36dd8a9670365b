import { randomUUID } from 'node:crypto';
import { type Answer, startApi, type TestApi } from '../support/api.js';

let api: TestApi;
beforeAll(async () => void (api = await startApi()));
afterAll(async () => await api.stop());

async function issue(idempotencyKey: string, name: string, on: TestApi = api, key = api.adminKey): Promise<Answer> {
  return await on.call('POST', '/v1/keys', {
    key,
    body: { name, roles: ['viewer'] },
    headers: { 'idempotency-key': idempotencyKey },
  });
}

async function count(name: string): Promise<number> {
  return (await api.database.db.query('SELECT 1 FROM api_key WHERE name = $1', [name])).length;
}

describe('an Idempotency-Key', () => {
  it('with the same body gets the same answer, on any replica, and one effect', async () => {
    const key = randomUUID();
    const elsewhere = await api.replica();
    const first = await issue(key, 'same');
    const second = await issue(key, 'same', elsewhere);
    expect(first.status).toBe(201);
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await count('same')).toBe(1);
    await elsewhere.stop();
  });

  it('with another body, or another address, is 422', async () => {
    const key = randomUUID();
    await issue(key, 'first');
    expect(await issue(key, 'other')).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    const elsewhere = await api.call('POST', '/v1/keys/abc/rotate', { headers: { 'idempotency-key': key } });
    expect(elsewhere.status).toBe(422);
    expect(await count('other')).toBe(0);
  });

  it('sent by twenty requests at once on two replicas has one effect and one answer', async () => {
    const key = randomUUID();
    const elsewhere = await api.replica();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => await issue(key, 'raced', index % 2 ? api : elsewhere)),
    );
    expect(await count('raced')).toBe(1);
    const secrets = new Set(answers.filter((answer) => answer.status === 201).map((answer) => answer.body['key']));
    expect(secrets.size).toBe(1);
    for (const answer of answers) expect([201, 409]).toContain(answer.status);
    await elsewhere.stop();
  });

  it('belongs to its caller: another one may use the same value', async () => {
    const key = randomUUID();
    const other = await api.keyFor('admin');
    const mine = await issue(key, 'shared');
    const theirs = await issue(key, 'shared', api, other);
    expect(theirs.status).toBe(201);
    expect(theirs.body['id']).not.toBe(mine.body['id']);
  });

  it('of a request that failed stays free', async () => {
    const key = randomUUID();
    const failed = await api.call('POST', '/v1/keys', {
      body: { name: 'x', roles: [] },
      headers: { 'idempotency-key': key },
    });
    expect(failed.status).toBe(400);
    expect((await issue(key, 'after-failure')).status).toBe(201);
  });

  it('keeps no secret of the answer readable in the database', async () => {
    const { body } = await issue(randomUUID(), 'sealed');
    const secret = String(body['key']).slice(14);
    const rows = await api.database.db.query<{ answer: Buffer }>('SELECT answer FROM idempotency_key');
    expect(rows.length).toBeGreaterThan(0);
    for (const { answer } of rows) expect(answer.toString('latin1')).not.toContain(secret);
  });

  it('is forgotten after its time, and then free again', async () => {
    const key = randomUUID();
    const first = await issue(key, 'forgotten');
    await api.database.db.query(`UPDATE idempotency_key SET expires_at = clock_timestamp() - interval '1 second'`);
    const second = await issue(key, 'forgotten');
    expect(second.body['id']).not.toBe(first.body['id']);
  });

  it.each(['', 'a b', 'é', 'x'.repeat(256)])('that is not acceptable is 400: %j', async (key) => {
    expect(await issue(key, 'never')).toMatchObject({ status: 400, body: { code: 'IDEMPOTENCY_KEY_INVALID' } });
  });
});
