import { execFile } from 'node:child_process';
import { readdirSync, readlinkSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { EVENT_EXAMPLES } from '../../apps/api/src/events/events.docs.js';
import { newFolder } from '../support/process.js';

const PROGRAM = resolve(import.meta.dirname, '../../bin/rollcall.js');
/** The registry expires events once per minute, so that this type is only in a demo of normal speed. */
const LATER = 'event.expired';

/** The processes that run in a folder. */
function processesIn(folder: string): string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && folderOf(pid).startsWith(folder));
}

function folderOf(pid: string): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return ''; // the process has ended, or belongs to another user
  }
}

describe('rollcall demo', () => {
  it('plays every scene, produces every type of event, and leaves no process behind (S1.11)', async () => {
    const folder = newFolder();
    const { PATH = '', HOME = '' } = process.env;
    const argv = [PROGRAM, 'demo', '--once', '--speed', '20', '--seed', '7'];
    const { promise, resolve: done } = Promise.withResolvers<{ code: unknown; stdout: string; stderr: string }>();
    execFile(process.execPath, argv, { cwd: folder, env: { PATH, HOME } }, (error, stdout, stderr) =>
      done({ code: error?.code ?? 0, stdout, stderr }),
    );
    const { code, stdout, stderr } = await promise;
    expect({
      code,
      failed: stdout.split('\n').filter((line) => line.includes(' failed ')),
      errors: stderr.includes('Error'),
    }).toEqual({
      code: 0,
      failed: [],
      errors: false,
    });
    const seen = /types of events: (.*)$/m.exec(stderr)?.[1]?.split(', ') ?? [];
    expect([...new Set([...seen, LATER])].toSorted()).toEqual(Object.keys(EVENT_EXAMPLES).toSorted());
    expect(processesIn(folder)).toEqual([]);
    rmSync(folder, { recursive: true });
  }, 120_000);
});
