import { createDecipheriv, createHash, hkdfSync, randomUUID } from 'node:crypto';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';

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
  it('a repeated request with the same body gets the same answer on any replica and has one effect', async () => {
    const key = randomUUID();
    const other = await api.replica();
    const first = await issue(key, 'same');
    const second = await issue(key, 'same', other);
    expect(first.status).toBe(201);
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await count('same')).toBe(1);
    await other.stop();
  });

  it('rejects with 422 a key that is used again for another body or another path', async () => {
    const key = randomUUID();
    await issue(key, 'first');
    expect(await issue(key, 'other')).toMatchObject({ status: 422, body: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    const otherPath = await api.call('POST', '/v1/keys/abc/rotate', { headers: { 'idempotency-key': key } });
    expect(otherPath.status).toBe(422);
    expect(await count('other')).toBe(0);
  });

  it('20 concurrent requests with one key on two replicas have one effect and one answer', async () => {
    const key = randomUUID();
    const other = await api.replica();
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => await issue(key, 'raced', index % 2 ? api : other)),
    );
    expect(await count('raced')).toBe(1);
    const secrets = new Set(answers.filter((answer) => answer.status === 201).map((answer) => answer.body['key']));
    expect(secrets.size).toBe(1);
    for (const answer of answers) expect([201, 409]).toContain(answer.status);
    await other.stop();
  });

  it('a key belongs to its caller: another caller may use the same value', async () => {
    const key = randomUUID();
    const other = await api.given.key('admin');
    const mine = await issue(key, 'shared');
    const theirs = await issue(key, 'shared', api, other);
    expect(theirs.status).toBe(201);
    expect(theirs.body['id']).not.toBe(mine.body['id']);
  });

  it('the key of a failed request can be used again', async () => {
    const key = randomUUID();
    const failed = await api.call('POST', '/v1/keys', {
      body: { name: 'x', roles: [] },
      headers: { 'idempotency-key': key },
    });
    expect(failed.status).toBe(400);
    expect((await issue(key, 'after-failure')).status).toBe(201);
  });

  it('the database contains no readable secret of a stored answer', async () => {
    const { body } = await issue(randomUUID(), 'sealed');
    const secret = String(body['key']).slice(14);
    const rows = await api.database.db.query<{ answer: Buffer }>('SELECT answer FROM idempotency_key');
    expect(rows.length).toBeGreaterThan(0);
    for (const { answer } of rows) expect(answer.toString('latin1')).not.toContain(secret);
  });

  it('an expired key can be used again', async () => {
    const key = randomUUID();
    const first = await issue(key, 'forgotten');
    await api.database.db.query(`UPDATE idempotency_key SET expires_at = clock_timestamp() - interval '1 second'`);
    const second = await issue(key, 'forgotten');
    expect(second.body['id']).not.toBe(first.body['id']);
  });

  it.each(['', 'a b', 'é', 'x'.repeat(256)])('rejects an invalid key with 400: %j', async (key) => {
    expect(await issue(key, 'never')).toMatchObject({ status: 400, body: { code: 'IDEMPOTENCY_KEY_INVALID' } });
  });
});

describe('a stored answer', () => {
  /** Returns the response as the database stores it. */
  async function stored(key: string): Promise<Buffer> {
    const hash = createHash('sha256').update(key).digest();
    const sql = 'SELECT answer FROM idempotency_key WHERE key_hash = $1';
    const [row] = await api.database.db.query<{ answer: Buffer }>(sql, [hash]);
    return row?.answer ?? Buffer.alloc(0);
  }

  /** Decrypts a stored response with a key that is derived from `secret`. */
  function decrypted(secret: string, sealed: Buffer, purpose: string): string {
    const key = Buffer.from(hkdfSync('sha256', secret, sealed.subarray(0, 16), purpose, 32));
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(16, 28));
    decipher.setAuthTag(sealed.subarray(28, 44));
    return Buffer.concat([decipher.update(sealed.subarray(44)), decipher.final()]).toString('utf8');
  }

  it('A12 a stored answer cannot be decrypted with the database and a guessed Idempotency-Key', async () => {
    const issued = await issue('tour-1', 'guessed');
    const sealed = await stored('tour-1');
    expect(issued.status).toBe(201);
    for (const purpose of ['rollcall idempotency', 'rollcall idempotency 2'])
      for (const secret of ['tour-1', 'tour-1\n']) expect(() => decrypted(secret, sealed, purpose)).toThrow();
    expect(decrypted(`tour-1\n${api.adminKey}`, sealed, 'rollcall idempotency 2')).toContain(
      String(issued.body['key']),
    );
    expect((await issue('tour-1', 'guessed')).body).toEqual(issued.body);
  });

  it('A12 encrypts an answer with the sealing key if there is one, and decrypts it with any configured sealing key', async () => {
    const [older, newer] = ['o'.repeat(32), 'n'.repeat(32)];
    const before = await api.replica({ ROLLCALL_SEALING_KEY: older });
    const first = await issue('tour-2', 'sealed', before);
    expect(decrypted(`tour-2\n${older}`, await stored('tour-2'), 'rollcall idempotency 2')).toContain('rk_');
    const after = await api.replica({ ROLLCALL_SEALING_KEY: `${newer},${older}` });
    expect((await issue('tour-2', 'sealed', after)).body).toEqual(first.body);
    await Promise.all([before.stop(), after.stop()]);
  });

  it('A12 an answer that was stored before the sealing key was set is decrypted with the credential', async () => {
    const first = await issue('tour-3', 'unsealed');
    const after = await api.replica({ ROLLCALL_SEALING_KEY: 's'.repeat(32) });
    expect((await issue('tour-3', 'unsealed', after)).body).toEqual(first.body);
    await after.stop();
  });
});
