import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '#rollcall/test-support';
import { announcement } from '../../apps/api/src/boot/announcement.js';
import type { Running } from '../../apps/api/src/boot/start.js';
import { VERSION } from '../../apps/api/src/version.js';
import { newFolder, RollcallProcess } from '../support/process.js';
import { Reader, READER_PAUSE_S, type ReadStep, sessionOf, stepsOf } from '../support/reader.js';
import { Tour } from '../support/tour.js';

const ROOT = resolve(import.meta.dirname, '../..');
const [START, ...SESSION] = sessionOf('README.md');
const TUTORIAL = stepsOf('tutorial.md');
const TOUR = Tour.of('docs/tour.md');
const TIMEOUT_MS = 150_000 + 50 * READER_PAUSE_S * 1000; // for up to 50 pauses
const PAGE_URL = 'http://127.0.0.1:8080';

/** It looks like the folder of Rollcall to its reader. */
let folder: string;
let url: string;
let server: RollcallProcess;

beforeAll(async () => {
  folder = newFolder();
  symlinkSync(join(ROOT, 'examples'), join(folder, 'examples'));
  writeNpx();
  url = `http://127.0.0.1:${await freePort()}`;
  await start();
});
afterAll(async () => {
  await server.end();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts the command line as npx does in a checkout. npx itself takes a second of CPU time for each command. */
function writeNpx(): void {
  mkdirSync(join(folder, 'bin'));
  const npx = join(folder, 'bin/npx');
  const [node, program] = [process.execPath, join(ROOT, 'bin/rollcall.js')];
  writeFileSync(npx, `#!/bin/sh\n[ "$1" = rollcall ] && shift && exec '${node}' '${program}' "$@"\n`);
  chmodSync(npx, 0o755);
}

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

/** Executes the steps in one shell, in the folder of Rollcall. */
async function read(steps: readonly ReadStep[]): Promise<void> {
  const path = `${join(folder, 'bin')}:${process.env['PATH'] ?? ''}`;
  const reader = new Reader({ PATH: path, HOME: folder, ROLLCALL_URL: url }, folder);
  try {
    for (const { commands, output } of steps)
      await reader.follow({ commands: commands.replace(PAGE_URL, url), output: output ?? '' });
  } finally {
    reader.stop();
  }
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

describe('README.md', () => {
  it('begins with what `npm start` prints', () => {
    const adminKey = { file: '.rollcall/admin.key', shell: '' };
    const printed = announcement({ url: PAGE_URL, embedded: true, adminKey } as Running);
    expect(START?.commands).toBe('npm ci && npm start &');
    const shown = START?.output?.split('  …')[0]?.replace(/Rollcall \S+/, `Rollcall ${VERSION}`);
    expect(printed).toContain(shown);
  });

  it('`npx rollcall` is the command line of the checkout', () => {
    expect(execFileSync('npx', ['rollcall', '--version'], { cwd: ROOT, encoding: 'utf8' })).toBe(`${VERSION}\n`);
  });
});

describe('the pages have commands', () => {
  it('all steps have output, except the one that removes everything', () => {
    expect(SESSION.length).toBeGreaterThan(5);
    expect(TUTORIAL.length).toBeGreaterThan(10);
    expect(TUTORIAL.filter(({ output }) => output === undefined)).toHaveLength(1);
  });
});

describe.each(['for the first time', 'again'])(
  'the pages in the order of README.md on one server, %s: every command prints what its page shows',
  (time) => {
    it(
      'N-2 N-6 README.md, and then docs/tutorial.md',
      async () => {
        await read([...SESSION, ...TUTORIAL]);
      },
      TIMEOUT_MS,
    );

    it(
      'B6 B2 D1 N-6 docs/tour.md: an agent runs and delegates, and its run continues after the server is killed',
      async () => {
        const isUnchanged = expect.stringContaining('"name":"lead","change":"unchanged"') as string;
        expect(await follow(TOUR)).toEqual(time === 'again' ? [isUnchanged] : []);
      },
      TIMEOUT_MS,
    );

    it.each(['docs/coding-tour.md', 'docs/registry-tour.md'])(
      'N-6 S4.11 %s',
      async (page) => {
        expect(await follow(Tour.of(page))).toEqual([]);
      },
      TIMEOUT_MS,
    );
  },
);
