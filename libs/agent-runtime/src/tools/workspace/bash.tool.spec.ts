import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '#rollcall/test-support';
import { aRun, TestCalls } from '../../testing/tool-calls.js';
import { type BashOptions, DEFAULT_BASH_OPTIONS, DEFAULT_TOOLS_OPTIONS } from '../tools.options.js';
import { bashTool } from './bash.tool.js';
import { Workspaces } from './workspaces.js';

/** Not a sandbox: for the limits that do not depend on one. */
const NO_SANDBOX = ['nice', '-n', '0'];
const SECRET = 'the secret outside';

let base: string;
let path: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'bash-'));
  path = join(base, 'inside', 'default', 'run-1');
  mkdirSync(path, { recursive: true });
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function calls(options: Partial<BashOptions> = {}): TestCalls {
  const workspaces = new Workspaces({ ...DEFAULT_TOOLS_OPTIONS, workspaces: { root: join(base, 'inside') } });
  return new TestCalls(
    [bashTool(workspaces, { ...DEFAULT_BASH_OPTIONS, sandbox: NO_SANDBOX, ...options })],
    {},
    aRun(),
  );
}

const bash = async (command: string, options?: Partial<BashOptions>): Promise<string> =>
  (await calls(options).call('bash', { command })).output;

describe('the tool bash', () => {
  it('S4.10 executes a command in the workspace, and returns its output and its exit code', async () => {
    expect(await bash('echo hello > a.txt; pwd; cat a.txt; echo problem >&2; exit 3')).toBe(
      `${path}\nhello\nproblem\n[Exit code: 3]`,
    );
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('hello\n');
  });

  it('S4.10 passes nothing of the environment of the server', async () => {
    process.env['ROLLCALL_TEST_SECRET'] = SECRET;
    try {
      expect(await bash('env')).not.toContain(SECRET);
    } finally {
      delete process.env['ROLLCALL_TEST_SECRET'];
    }
  });

  it('S4.10 ends a command that hangs and ignores SIGTERM, with the programs that it started', async () => {
    const output = await bash('trap "" TERM; sleep 300 & echo $! > pid; wait', { timeoutMs: 500 });
    expect(output).toBe('[Ended after 0.5 s: the command took too long.]');
    const pid = Number(readFileSync(join(path, 'pid'), 'utf8'));
    await until('the program in the background has ended', () => !isAlive(pid));
  });

  it('S4.10 ends the programs that a command leaves running', async () => {
    expect(await bash('sleep 300 & echo $! > pid')).toBe('[Exit code: 0]');
    const pid = Number(readFileSync(join(path, 'pid'), 'utf8'));
    await until('the program in the background has ended', () => !isAlive(pid));
  });

  it('S4.10 ends with its run', async () => {
    const running = calls();
    const call = running.call('bash', { command: 'echo $$ > pid; sleep 300' });
    await until(
      'the command has started',
      () => existsSync(join(path, 'pid')) && readFileSync(join(path, 'pid')).length > 0,
    );
    running.abort.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    const pid = Number(readFileSync(join(path, 'pid'), 'utf8'));
    await until('the command has ended', () => !isAlive(pid));
  });

  it('S4.10 keeps only the beginning of an output that floods', async () => {
    const output = await bash('head -c 5000000 /dev/zero | tr "\\0" x', { maxOutputBytes: 1_000 });
    expect(output.length).toBeLessThan(1_100);
    expect(output).toContain('[Cut: 4999000 further bytes.]');
  });

  it('S4.10 ends a command whose output does not end', async () => {
    const output = await bash('echo $$ > pid; exec yes', { maxOutputBytes: 10 });
    expect(output).toMatch(/^(y\n){5}\n\[Cut: \d+ further bytes.\]\n\[Ended: the command wrote more than 64 MB.\]$/);
    const pid = Number(readFileSync(join(path, 'pid'), 'utf8'));
    await until('the command has ended', () => !isAlive(pid));
  });

  it('S4.10 reports a sandbox that does not exist without its path', async () => {
    const output = await bash('true', { sandbox: ['/no/such/sandbox'] });
    expect(output).toContain('The sandbox cannot be started: its program does not exist.');
    expect(output).not.toContain('/no/such');
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '); // a zombie has ended
  } catch {
    return false; // there is no such process
  }
}
