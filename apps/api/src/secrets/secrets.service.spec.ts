import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Secret } from '#rollcall/providers';
import { loadConfig } from '../config/config.loader.js';
import { SecretsService } from './secrets.service.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'rollcall-secrets-'))));
afterEach(() => rmSync(folder, { recursive: true }));

const service = (): SecretsService => new SecretsService(loadConfig({ ROLLCALL_DATA_DIR: folder }, '/nowhere'));

describe('the sealing key in the data folder', () => {
  it('creates the key at its first use, readable only by its owner, and does not change it', () => {
    const sealed = service().seal(new Secret('whsec_x'), 'wh_1');
    expect(service().open(sealed, 'wh_1').reveal()).toBe('whsec_x');
    expect(readdirSync(folder)).toEqual(['sealing.key']);
    expect(readFileSync(join(folder, 'sealing.key'), 'utf8')).toMatch(/^[0-9a-f]{64}\n$/);
    expect(statSync(join(folder, 'sealing.key')).mode & 0o777).toBe(0o600);
  });

  it('rejects an empty key file, which a crash can leave behind', () => {
    writeFileSync(join(folder, 'sealing.key'), '');
    expect(() => service().seal(new Secret('whsec_x'), 'wh_1')).toThrow('contains no key');
  });
});
