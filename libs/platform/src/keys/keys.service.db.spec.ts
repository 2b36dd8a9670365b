import { NamespaceAdmission } from '../namespaces/namespace.admission.js';
import { NamespaceContents } from '../namespaces/namespace.contents.js';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import { NamespaceStore } from '../namespaces/namespace.store.js';
import type { Database } from '../postgres/database.js';
import { testDatabase, type TestDatabase } from '../testing/index.js';
import { hashOf } from './key.js';
import { KeyStore } from './key.store.js';
import { type IssuedKey, KeysService } from './keys.service.js';

const HOUR_MS = 3_600_000;

let database: TestDatabase;
let keys: KeysService;

beforeEach(async () => {
  database = await testDatabase();
  keys = keysServiceOn(database.db);
});
afterEach(async () => await database.drop());

function keysServiceOn(db: Database): KeysService {
  const admission = new NamespaceAdmission(db, new NamespaceStore(db));
  return new KeysService(db, new KeyStore(db), admission, new NamespaceContents());
}

const issue = async (name: string, roles: string[], expiresAt: Date | null): Promise<IssuedKey> =>
  await keys.issue({ name, namespace: ALL_NAMESPACES, roles, expiresAt }, 'test');
const inAnHour = (): Date => new Date(Date.now() + HOUR_MS);
/** Back-dates the key by this interval. */
const age = async (id: string, interval: string): Promise<unknown> =>
  await database.db.query(
    `UPDATE api_key SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval WHERE id = $1`,
    [id, interval],
  );

describe('the service of API keys', () => {
  it('finds a key by its secret until the key expires', async () => {
    const { row, key } = await issue('short', ['viewer'], inAnHour());
    expect(await keys.findValid(hashOf(key))).toMatchObject({ id: row.id, isActive: true });
    await age(row.id, '2 hours');
    expect(await keys.findValid(hashOf(key))).toBeUndefined();
    expect(await keys.get(row.id, null)).toMatchObject({ isActive: false });
    await expect(keys.rotate(row.id, 0, 'test', null)).rejects.toMatchObject({ code: 'KEY_NOT_ACTIVE' });
  });

  it('finds a key on a reserved connection while all ordinary connections are in use', async () => {
    const { row, key } = await issue('busy', ['viewer'], null);
    const db = await database.connectAgain({ poolSize: 1 });
    const busyKeys = keysServiceOn(db);
    await busyKeys.findValid(hashOf(key)); // records the use of the key, which needs an ordinary connection
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const holder = db.transaction(async () => await released);
    expect(await db.detached(async () => await busyKeys.findValid(hashOf(key), 'reserved'))).toMatchObject({
      id: row.id,
    });
    release();
    await holder;
  });

  it('a rotated key gets a successor with the same name, roles and lifetime, and stays valid for the overlap', async () => {
    const { row: old, key: oldKey } = await issue('ci', ['operator', 'viewer'], inAnHour());
    await age(old.id, '30 minutes');
    const { row, key } = await keys.rotate(old.id, 60_000, 'key:operator', null);
    expect(row).toMatchObject({ name: 'ci', roles: ['operator', 'viewer'], createdBy: 'key:operator', isActive: true });
    const lifetimeMs = (row.expiresAt?.getTime() ?? 0) - row.createdAt.getTime();
    expect(Math.round(lifetimeMs / 60_000)).toBe(60);
    expect(await keys.findValid(hashOf(key))).toMatchObject({ id: row.id });
    expect(await keys.findValid(hashOf(oldKey))).toMatchObject({ id: old.id, replacedBy: row.id });
    await expect(keys.rotate(old.id, 60_000, 'test', null)).rejects.toMatchObject({ code: 'KEY_NOT_ACTIVE' });
  });

  it('a key without an expiry date gets a successor without an expiry date', async () => {
    const { row } = await issue('lasting', ['viewer'], null);
    expect((await keys.rotate(row.id, 0, 'test', null)).row.expiresAt).toBeNull();
  });

  it('does not find a revoked key, and calls the listeners after the commit', async () => {
    const { row, key } = await issue('ci', ['viewer'], null);
    let changes = 0;
    keys.onChange(() => (changes += 1));
    expect(await keys.revoke(row.id, null)).toMatchObject({ isActive: false });
    expect(changes).toBe(1);
    expect(await keys.findValid(hashOf(key))).toBeUndefined();
    expect(await keys.findValidIds([row.id])).toEqual([]);
    await expect(keys.revoke(row.id, null)).rejects.toMatchObject({ code: 'KEY_REVOKED' });
  });

  it('keeps one admin key without an expiry date, even if all admin keys are revoked at the same time', async () => {
    const issued = await Promise.all(['a', 'b', 'c'].map((name) => issue(name, ['admin'], null)));
    const results = await Promise.allSettled(issued.map(({ row }) => keys.revoke(row.id, null)));
    const rejected = results.filter((result) => result.status === 'rejected');
    expect(rejected).toMatchObject([{ reason: { code: 'LAST_ADMIN_KEY' } }]);
  });

  it('rejects an unknown id with KEY_NOT_FOUND, and names the id in the message', async () => {
    await expect(keys.get('unknown', null)).rejects.toMatchObject({
      code: 'KEY_NOT_FOUND',
      message: expect.stringContaining('"unknown"') as string,
    });
  });
});
