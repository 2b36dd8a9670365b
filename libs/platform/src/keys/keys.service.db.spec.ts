import { testDatabase, type TestDatabase } from '../testing/index.js';
import { hashOf } from './key.secret.js';
import { KeyStore } from './key.store.js';
import { KeysService } from './keys.service.js';

const HOUR_MS = 3_600_000;

let database: TestDatabase;
let keys: KeysService;

beforeEach(async () => {
  database = await testDatabase();
  keys = new KeysService(database.db, new KeyStore(database.db));
});
afterEach(async () => await database.drop());

const inAnHour = (): Date => new Date(Date.now() + HOUR_MS);
/** Back-dates the key by this interval. */
const age = async (id: string, interval: string): Promise<unknown> =>
  await database.db.query(
    `UPDATE api_key SET created_at = created_at - $2::interval, expires_at = expires_at - $2::interval WHERE id = $1`,
    [id, interval],
  );

describe('an API key', () => {
  it('finds a key by its secret until the key expires', async () => {
    const { row, key } = await keys.issue('short', ['viewer'], inAnHour(), 'test');
    expect(await keys.findValid(hashOf(key))).toMatchObject({ id: row.id, isActive: true });
    await age(row.id, '2 hours');
    expect(await keys.findValid(hashOf(key))).toBeUndefined();
    expect(await keys.get(row.id)).toMatchObject({ isActive: false });
    await expect(keys.rotate(row.id, 0, 'test')).rejects.toMatchObject({ code: 'KEY_NOT_ACTIVE' });
  });

  it('finds a key on a reserved connection while all ordinary connections are in use', async () => {
    const { row, key } = await keys.issue('busy', ['viewer'], null, 'test');
    const db = await database.connectAgain({ poolSize: 1 });
    const busyKeys = new KeysService(db, new KeyStore(db));
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
    const { row: old, key: oldKey } = await keys.issue('ci', ['operator', 'viewer'], inAnHour(), 'test');
    await age(old.id, '30 minutes');
    const { row, key } = await keys.rotate(old.id, 60_000, 'key:operator');
    expect(row).toMatchObject({ name: 'ci', roles: ['operator', 'viewer'], createdBy: 'key:operator', isActive: true });
    const lifetimeMs = (row.expiresAt?.getTime() ?? 0) - row.createdAt.getTime();
    expect(Math.round(lifetimeMs / 60_000)).toBe(60);
    expect(await keys.findValid(hashOf(key))).toMatchObject({ id: row.id });
    expect(await keys.findValid(hashOf(oldKey))).toMatchObject({ id: old.id, replacedBy: row.id });
    await expect(keys.rotate(old.id, 60_000, 'test')).rejects.toMatchObject({ code: 'KEY_NOT_ACTIVE' });
  });

  it('a key without an expiry date gets a successor without an expiry date', async () => {
    const { row } = await keys.issue('lasting', ['viewer'], null, 'test');
    expect((await keys.rotate(row.id, 0, 'test')).row.expiresAt).toBeNull();
  });

  it('does not find a revoked key, and calls the listeners after the commit', async () => {
    const { row, key } = await keys.issue('ci', ['viewer'], null, 'test');
    let changes = 0;
    keys.onChange(() => (changes += 1));
    expect(await keys.revoke(row.id)).toMatchObject({ isActive: false });
    expect(changes).toBe(1);
    expect(await keys.findValid(hashOf(key))).toBeUndefined();
    expect(await keys.findValidIds([row.id])).toEqual([]);
    await expect(keys.revoke(row.id)).rejects.toMatchObject({ code: 'KEY_REVOKED' });
  });

  it('the last admin key without an expiry date cannot be revoked, also when all are revoked at the same time', async () => {
    const issued = await Promise.all(['a', 'b', 'c'].map((name) => keys.issue(name, ['admin'], null, 'test')));
    const results = await Promise.allSettled(issued.map(({ row }) => keys.revoke(row.id)));
    const rejected = results.filter((result) => result.status === 'rejected');
    expect(rejected).toMatchObject([{ reason: { code: 'LAST_ADMIN_KEY' } }]);
  });

  it('rejects an unknown key with KEY_NOT_FOUND and its id', async () => {
    await expect(keys.get('unknown')).rejects.toMatchObject({
      code: 'KEY_NOT_FOUND',
      message: expect.stringContaining('"unknown"') as string,
    });
  });
});
