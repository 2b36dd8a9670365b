import { execFileSync } from 'node:child_process';
import { createServer, type Server } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '#rollcall/test-support';
import { aRun, TestCalls } from '../../testing/tool-calls.js';
import { type BashOptions, DEFAULT_BASH_OPTIONS, DEFAULT_TOOLS_OPTIONS } from '../tools.options.js';
import { bashTool } from './bash.tool.js';
import { Workspaces } from './workspaces.js';

const DOCS = join(import.meta.dirname, '../../../../../docs/runtime/workspace.md');
/** The recipe of the docs. */
const BUBBLEWRAP = /ROLLCALL_TOOLS_BASH=(bwrap .*)/.exec(readFileSync(DOCS, 'utf8'))![1].split(' ');
/** Not a sandbox: for the limits that do not depend on one. */
const NO_SANDBOX = ['nice', '-n', '0'];
const SECRET = 'the secret outside';

function hasBubblewrap(): boolean {
  try {
    execFileSync('bwrap', [...BUBBLEWRAP.slice(1, -5), '--chdir', '/tmp', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // absent, or namespaces are not allowed here
  }
}

let base: string;
let path: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'bash-'));
  path = join(base, 'inside', 'default', 'run-1');
  mkdirSync(path, { recursive: true });
  writeFileSync(join(base, 'secret.txt'), SECRET);
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

/** Skipped where the Debian package `bubblewrap` is absent, or where namespaces are not allowed. */
const canIsolate = hasBubblewrap();
const inSandbox = canIsolate ? describe : describe.skip;
const WHY_SKIPPED = canIsolate ? '' : ' (skipped: bubblewrap is not installed, or cannot create namespaces here)';

inSandbox(`a hostile command in bubblewrap${WHY_SKIPPED}`, () => {
  /** Each prints what it reached. None may reach the secret, a process, a socket or a file outside the workspace. */
  const ATTACKS = [
    `cat {base}/secret.txt`,
    `cat ../../../secret.txt`,
    `cat /proc/1/root{base}/secret.txt`,
    `cat /proc/*/environ | tr '\\0' '\\n' | grep -i rollcall`,
    `cat /proc/1/cwd/../../../secret.txt`,
    `ln -s {base}/secret.txt link; cat link`,
    `ln {base}/secret.txt hard; cat hard`,
    `find / -name secret.txt -exec cat {} +`,
    `cat /etc/passwd /etc/shadow`,
    `ls -R /home /root /opt /var /srv`,
    `echo owned > {base}/secret.txt`,
    `echo owned > ../../../secret.txt`,
    `touch /usr/bin/owned /owned`,
    `mount -t tmpfs none /usr`,
    `mount --bind / /tmp; cat /tmp{base}/secret.txt`,
    `chroot / cat {base}/secret.txt`,
    `nsenter -t 1 -a cat {base}/secret.txt`,
    `unshare -r cat {base}/secret.txt`,
    `kill -9 -1; echo survived`,
    `kill -9 {pid}`,
    `ls /proc | grep -w {pid}`,
    `mkfifo pipe; echo made`,
    `mknod disk b 8 0 && cat disk`,
    `exec 3<>/dev/tcp/127.0.0.1/{port}; echo GET >&3; cat <&3`,
    `exec 3<>/dev/tcp/localhost/{port}; cat <&3`,
    `exec 3<>/dev/udp/127.0.0.1/53; echo x >&3`,
    `ls -l /run /var/run /dev/shm; ls /tmp/bash-*`,
    `env; set | grep -i key`,
    `setsid sh -c 'sleep 300; touch late' >/dev/null 2>&1 & echo left`,
    `dd if=/dev/mem of=mem bs=1 count=1`,
    `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("{base}/socket")) and print <S>'`,
    `perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, pack_sockaddr_un("\\0{abstract}")) and print <S>'`,
    `for i in $(seq 100); do setsid sleep {seconds} & done; echo forked`,
  ];

  /** A number that no other process has in its command line. */
  const SECONDS = 1_000_000 + process.pid;
  const ABSTRACT = `rollcall-bash-${process.pid}`;
  let port = 0;
  let connections = 0;
  const listening = async (address: string | number): Promise<Server> => {
    const server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => undefined).end(SECRET);
    });
    await new Promise<void>((resolve) => server.listen(address, resolve));
    return server;
  };
  const servers: Server[] = [];
  beforeAll(async () => {
    servers.push(await listening(0), await listening(`\0${ABSTRACT}`));
    port = (servers[0].address() as { port: number }).port;
  });
  afterAll(() => servers.forEach((server) => server.close()));

  it.each(ATTACKS)('S4.10 %s reaches nothing outside', async (attack) => {
    process.env['ROLLCALL_TEST_SECRET'] = SECRET;
    const socket = await listening(join(base, 'socket'));
    try {
      const command = attack
        .replaceAll('{base}', base)
        .replaceAll('{port}', String(port))
        .replaceAll('{pid}', String(process.pid))
        .replaceAll('{abstract}', ABSTRACT)
        .replaceAll('{seconds}', String(SECONDS));
      const output = await bash(command, { sandbox: BUBBLEWRAP, timeoutMs: 20_000 });
      expect(output).not.toContain(SECRET);
      expect(output).not.toContain('root:x:');
      expect(output).toMatch(/\[(Exit code|Ended)/);
      expect(readFileSync(join(base, 'secret.txt'), 'utf8')).toBe(SECRET);
      expect(readdirSync(base).toSorted()).toEqual(['inside', 'secret.txt', 'socket']);
      expect(existsSync('/usr/bin/owned') || existsSync('/owned')).toBe(false);
      expect(connections).toBe(0);
      await until('its programs have ended', () => !isExecuted(String(SECONDS)));
    } finally {
      delete process.env['ROLLCALL_TEST_SECRET'];
      socket.close();
    }
  });

  it('S4.10 changes the files of the workspace', async () => {
    expect(await bash('echo hi > made.txt && cat made.txt', { sandbox: BUBBLEWRAP })).toBe('hi\n[Exit code: 0]');
    expect(readFileSync(join(path, 'made.txt'), 'utf8')).toBe('hi\n');
  });
});

/** Whether there is a program with this argument. */
function isExecuted(argument: string): boolean {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(argument);
    } catch {
      return false; // it has ended meanwhile
    }
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z '); // a zombie has ended
  } catch {
    return false; // there is no such process
  }
}
