import { existsSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { until } from '#rollcall/test-support';
import { isAlive } from './data-folder.js';
import { EmbeddedPostgres, makeSocketFolder } from './embedded-postgres.js';

describe('the embedded Postgres server', () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'rollcall-embedded-'))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('stop ends the server process, even if the process is frozen', async () => {
    const postgres = await EmbeddedPostgres.start({ folder, stopWaitMs: 300 });
    const server = Number.parseInt(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8'), 10);
    process.kill(server, 'SIGSTOP');
    await postgres.stop();
    await until('the server process has ended', () => !isAlive(server));
    expect(existsSync(join(folder, 'owner.lock'))).toBe(false);
  });
});

describe('the socket folder', () => {
  it.each([['/nowhere/at/all'], [`/${'x'.repeat(100)}`]])(
    'creates the socket folder in /tmp when %s does not exist or is too long',
    (preferred) => {
      const created = makeSocketFolder(preferred);
      expect(dirname(created)).toBe('/tmp');
      rmdirSync(created);
    },
  );
});
