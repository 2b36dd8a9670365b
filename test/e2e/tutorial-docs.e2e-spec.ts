import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { announcement } from '../../apps/api/src/boot/announcement.js';
import type { Running } from '../../apps/api/src/boot/start.js';
import { VERSION } from '../../apps/api/src/version.js';
import { startApi, type TestApi } from '../support/api.js';
import { newFolder } from '../support/process.js';
import { Reader, READER_PAUSE_S, type ReadStep, sessionOf, stepsOf } from '../support/reader.js';

const [start, ...session] = sessionOf('README.md');
const STEPS = stepsOf('tutorial.md');
const TIMEOUT_MS = 150_000 + STEPS.length * READER_PAUSE_S * 1000;

let api: TestApi;
let folder: string;
let reader: Reader;

beforeAll(async () => {
  api = await startApi();
  folder = newFolder();
  writeFileSync(join(folder, 'admin.key'), `${api.adminKey}\n`);
});
beforeEach(() => void (reader = new Reader({ ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey })));
afterEach(() => reader.stop());
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await api.stop();
});

/** The reader uses this server instead of the one that `npm start` starts. */
function here({ commands, output }: ReadStep): ReadStep {
  const local = commands
    .replace('http://127.0.0.1:8080', api.url)
    .replace('.rollcall/admin.key', `${folder}/admin.key`);
  return { commands: local, output };
}

describe('README.md, and then docs/tutorial.md', () => {
  it('has a step for each part of the tutorial', () => {
    expect(STEPS.length).toBeGreaterThan(10);
    expect(STEPS.filter(({ output }) => output === undefined)).toHaveLength(1); // the last step removes everything
    expect(session.length).toBeGreaterThan(5);
  });

  it('the session of README.md begins with what `npm start` prints', () => {
    const adminKey = { file: '.rollcall/admin.key', shell: '' };
    const printed = announcement({ url: 'http://127.0.0.1:8080', embedded: true, adminKey } as Running);
    expect(start?.commands).toBe('npm ci && npm start &');
    const shown = start?.output?.split('  …')[0]?.replace(/Rollcall \S+/, `Rollcall ${VERSION}`);
    expect(printed).toContain(shown);
  });

  it.each(['for the first time', 'again'])(
    'N-2 N-6 every command prints the documented output when both are executed %s',
    async () => {
      for (const step of [...session, ...STEPS]) await reader.follow(here(step));
    },
    TIMEOUT_MS,
  );
});
