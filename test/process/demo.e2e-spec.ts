import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EVENT_EXAMPLES } from '../../apps/api/src/events/events.docs.js';
import { until } from '#rollcall/test-support';
import { newFolder } from '../support/process.js';

const PROGRAM = resolve(import.meta.dirname, '../../bin/rollcall.js');
const TIMEOUT_MS = 180_000;
const KEY = /rk_\w{10}_[\w-]{20}/;

let folder: string;
let demo: ChildProcess;
let stdout = '';
let stderr = '';
let ended: Promise<unknown[]>;

beforeAll(() => {
  folder = newFolder();
  const { PATH = '', HOME = '' } = process.env;
  const argv = [PROGRAM, 'demo', '--once', '--speed', '100', '--seed', '7'];
  demo = spawn(process.execPath, argv, { cwd: folder, env: { PATH, HOME } });
  demo.stdout?.on('data', (chunk) => (stdout += String(chunk)));
  demo.stderr?.on('data', (chunk) => (stderr += String(chunk)));
  ended = once(demo, 'close');
});
afterAll(() => {
  demo.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** The command lines of the processes that run in the folder of the demo. */
function commandLines(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids
    .filter((pid) => ofProcess(() => readlinkSync(`/proc/${pid}/cwd`)).startsWith(folder))
    .map((pid) => ofProcess(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')));
}

function ofProcess(read: () => string): string {
  try {
    return read();
  } catch {
    return ''; // the process has ended, or belongs to another user
  }
}

describe('rollcall demo (S1.11)', () => {
  it(
    'prints the address, a link that signs in to the console, and no key; no process has a key in its arguments',
    async () => {
      await until('the first scene was played', () => stdout.includes(' ok '), TIMEOUT_MS);
      const lines = commandLines();
      expect(lines.length).toBeGreaterThan(12);
      const adminKey = readFileSync(join(folder, '.rollcall/demo/admin.key'), 'utf8').trim();
      for (const text of [...lines, stdout, stderr]) {
        expect(text).not.toContain(adminKey);
        expect(text).not.toMatch(KEY);
      }
      const [, console = '', ticket = ''] = /Console {2}(\S+)#ticket=(\S+)/.exec(stderr) ?? [];
      expect((await fetch(console)).status).toBe(200);
      const exchange = { method: 'POST', headers: { 'content-type': 'application/json' } };
      const url = new URL('/v1/sessions/tickets/exchange', console);
      const session = await fetch(url, { ...exchange, body: JSON.stringify({ ticket }) });
      expect(session.status).toBe(201);
    },
    TIMEOUT_MS,
  );

  it(
    'plays every scene, produces every type of event, writes no key to its logs, and leaves no process behind',
    async () => {
      const [code] = await ended;
      const failed = stdout.split('\n').filter((line) => line.includes(' failed '));
      expect({ code, failed, errors: stderr.includes('Error') }).toEqual({ code: 0, failed: [], errors: false });
      const seen = /types of events: (.*)$/m.exec(stderr)?.[1]?.split(', ');
      expect(seen).toEqual(Object.keys(EVENT_EXAMPLES).toSorted());
      expect(commandLines()).toEqual([]);
      const logs = join(folder, '.rollcall/demo/logs');
      const adminKey = readFileSync(join(folder, '.rollcall/demo/admin.key'), 'utf8').trim();
      const files = readdirSync(logs);
      expect(files.length).toBeGreaterThan(14);
      const withKey = files.filter((file) => {
        const text = readFileSync(join(logs, file), 'utf8');
        return text.includes(adminKey) || KEY.test(text);
      });
      expect(withKey).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
