import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DataFolder, DataFolderError } from './data-folder.js';

describe('the data folder', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'rollcall-folder-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('is created together with its missing parents, and only its owner has access', () => {
    const path = join(folder, 'a', 'b');
    new DataFolder(path).claim();
    for (const created of [path, join(folder, 'a')]) expect(statSync(created).mode & 0o777).toBe(0o700);
  });

  it('names a full disk as the reason why Postgres cannot be set up (N6)', () => {
    const { message } = new DataFolder('/data').setupFailed(
      'could not extend file: No space left on device',
      undefined,
    );
    expect(message).toMatch(/^Postgres could not be set up in \/data: the disk is full\. Free at least/);
    expect(new DataFolder('/data').setupFailed('no locale', undefined).message).toContain('no locale');
  });

  it('the error for a path where no folder can be created names the setting', () => {
    const claim = (): void => new DataFolder('/proc/rollcall/data').claim();
    expect(claim).toThrow(DataFolderError);
    expect(claim).toThrow('ROLLCALL_DATA_DIR');
  });
});
