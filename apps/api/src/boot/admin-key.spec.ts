import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AdminKeys } from '#rollcall/platform';
import { loadConfig } from '../config/config.loader.js';
import type { Config } from '../config/config.schema.js';
import { ensureAdminKey } from './admin-key.js';

let folder: string;
let config: Config;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-key-'));
  config = loadConfig({ ROLLCALL_DATA_DIR: folder, ROLLCALL_CONFIG: '/dev/null' }, folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** The admin keys of a database that contains only the keys `valid`. */
function keysOf(...valid: string[]): AdminKeys {
  const keys: Pick<AdminKeys, 'retireAdopted' | 'createFirst' | 'isValid'> = {
    retireAdopted: async () => {},
    createFirst: async (keep) => {
      if (valid.length > 0) return undefined;
      keep('rk_new');
      return 'rk_new';
    },
    isValid: async (key) => valid.includes(key),
  };
  return keys as AdminKeys;
}

const contentsOf = (name: string): string => readFileSync(join(folder, name), 'utf8').trim();

describe('the file of the admin key', () => {
  it('a start with a second database keeps the key file of the first database (N4)', async () => {
    writeFileSync(join(folder, 'admin.key'), 'rk_embedded\n');
    const file = join(folder, 'admin-2.key');
    expect(await ensureAdminKey(keysOf(), config, false)).toMatchObject({ created: 'rk_new', file });
    expect({ first: contentsOf('admin.key'), second: contentsOf('admin-2.key') }).toEqual({
      first: 'rk_embedded',
      second: 'rk_new',
    });
  });

  it('a later start finds the file whose key is valid in its database', async () => {
    writeFileSync(join(folder, 'admin.key'), 'rk_embedded\n');
    writeFileSync(join(folder, 'admin-2.key'), 'rk_external\n');
    expect((await ensureAdminKey(keysOf('rk_external'), config, false)).file).toBe(join(folder, 'admin-2.key'));
    expect((await ensureAdminKey(keysOf('rk_embedded'), config, true)).file).toBe(join(folder, 'admin.key'));
    expect((await ensureAdminKey(keysOf('rk_lost'), config, true)).file).toBeUndefined();
  });
});
