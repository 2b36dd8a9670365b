import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '#rollcall/test-support';
import { newFolder, RollcallProcess } from '../support/process.js';
import { READER_PAUSE_S } from '../support/reader.js';
import { Tour } from '../support/tour.js';

const TIMEOUT_MS = 120_000 + 50 * READER_PAUSE_S * 1000; // for up to 50 pauses

let folder: string;
let url: string;
let server: RollcallProcess;

beforeAll(async () => {
  folder = newFolder();
  symlinkSync(resolve(import.meta.dirname, '../../examples'), join(folder, 'examples'));
  url = `http://127.0.0.1:${await freePort()}`;
  await start();
});
afterAll(async () => {
  await server.end();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const { port } = new URL(url);
  const settings = {
    ROLLCALL_HEARTBEAT_EVERY: '10m', // the tour of the registry uses the interval
    ROLLCALL_WORKSPACES: join(folder, '.rollcall/workspaces'),
  };
  const environment = { PORT: port, ROLLCALL_DATA_DIR: join(folder, '.rollcall'), ...settings };
  server = new RollcallProcess(environment, { constants: { runtime: { runs: { leaseMs: 3_000 } } } });
  await server.ready();
}

/** Executes the commands of a tour in the folder of Rollcall. If they kill the server, starts it again. */
async function follow(tour: Tour): Promise<string[]> {
  const shell = spawn('sh', ['-c', tour.script(url)], { cwd: folder });
  let output = '';
  shell.stdout.on('data', (chunk) => (output += String(chunk)));
  const ended = once(shell, 'close');
  const isKilled = await Promise.race([server.exit().then(() => true), ended.then(() => false)]);
  if (isKilled) await start();
  await ended;
  return tour.differences(output);
}

describe('the tours, one after the other on the same server', () => {
  it(
    'B6 B2 D1 N-6 every command of docs/tour.md prints what the page says: an agent runs and delegates, and its run continues after the server is killed',
    async () => {
      const tour = Tour.of('docs/tour.md');
      expect(await follow(tour)).toEqual([]);
      const repeated = await follow(tour.before('kill -9'));
      expect(repeated).toEqual([expect.stringContaining('"name":"clerk","change":"unchanged"')]);
    },
    TIMEOUT_MS,
  );

  it.each(['docs/registry-tour.md', 'docs/coding-tour.md'])(
    'N-6 S4.11 every command of %s prints what the page says, also when the tour is repeated',
    async (page) => {
      const tour = Tour.of(page);
      expect(await follow(tour)).toEqual([]);
      expect(await follow(tour)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
