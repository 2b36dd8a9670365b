import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { until } from '#rollcall/test-support';
import { COMMANDS } from '../../apps/cli/src/table.js';
import { FORMATS } from '../../apps/cli/src/output/output.js';
import { startApi, type TestApi } from '../support/api.js';
import { CliSession, type CliResult, parseAs, wordsOf } from '../support/cli-session.js';

const PROGRAM = resolve(import.meta.dirname, '../../bin/rollcall.js');
const EMPTY_NAMESPACE = 'deserted';
const CLERK =
  '---\nname: clerk\ndescription: Reads the clock.\ntools: clock\n---\nRead it as often as the user says.\n';
const FLEET =
  'kind: definition\nname: clerk\ncontent: {description: Reads., instructions: Read., tools: [clock]}\n---\nkind: budget\nof: namespace\nwindow: monthly\nlimit: {tokens: 500000}\n---\nkind: key\nname: builders\nroles: [agent]\nsaveTo: builders.key\n';

let api: TestApi;
let cli: CliSession;
/** A credential that may only send heartbeats of its agent. */
let leaseToken: string;
let number = 0;

const next = (): string => `cli-${(number += 1)}`;
const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await api.call('POST', path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};
const startedRun = async (definition: string, input: string, more: object = {}): Promise<string> => {
  const { id } = await post('/v1/runs?waitMs=20000', { definition, input, ...more });
  return String(id);
};

/** Makes a new object for each use of a variable in the example of a command, because the command may change or remove it. */
const VARIABLES: Record<string, () => Promise<string>> = {
  NEW: async () => await Promise.resolve(next()),
  AGENT: async () => (await api.given.agent({ agentId: next() })).agentId,
  HOSTED: async () => String((await post('/v1/runtime/agents', { definition: 'clerk', name: next() }))['name']),
  DEFINITION: async () =>
    String((await post('/v1/definitions', { name: next(), content: { description: 'd', instructions: 'i' } }))['name']),
  RUN: async () => await startedRun('clerk', 'Read the clock 1 time.'),
  CONVERSATION: async () => {
    const conversationId = next();
    await startedRun('clerk', 'Hello.', { conversationId });
    return conversationId;
  },
  WAITING: async () => await startedRun('guarded', 'Read the clock 1 time.'),
  FAILED: async () => await startedRun('clerk', 'Read the clock 9 times.', { budget: { tokens: 1 } }),
  ASKING: async () => await startedRun('asker', 'Call ask_caller {"question": "Both?"}'),
  BUDGET: async () =>
    String((await post('/v1/budgets', { kind: 'agent', subject: next(), limit: { tokens: 1_000 } }))['id']),
  CONTRACT: async () =>
    String((await post('/v1/contracts', { task: 'Build.', capabilities: ['build'], bidWithinMs: 60_000 }))['id']),
  KEY: async () => String((await post('/v1/keys', { name: next(), roles: ['viewer'] }))['id']),
  NAMESPACE: async () => String((await post('/v1/namespaces', { name: next() }))['name']),
  WEBHOOK: async () => String((await post('/v1/webhooks', { url: 'http://127.0.0.1:19999/', paused: true }))['id']),
  CONTEXT: async () => {
    const name = next();
    await cli.run(['login', '--stdin', '--as', name], { input: api.adminKey });
    return await Promise.resolve(name);
  },
};

async function argvOf(example: string, value?: string): Promise<string[]> {
  const words = wordsOf(example.replace('https://example.com/rollcall', 'http://127.0.0.1:19999/'));
  return await Promise.all(
    words.map(async (word) => {
      const [whole, name = ''] = /\$([A-Z]+)/.exec(word) ?? [];
      if (whole === undefined) return word;
      const id = value === undefined || name === 'NEW' ? await VARIABLES[name]?.() : value;
      return word.replace(whole, id ?? '');
    }),
  );
}

/** Runs the example in every format. stdout is empty or can be parsed, and the key is nowhere. */
async function inEveryFormat(example: string, env: Record<string, string> = {}, value?: string): Promise<CliResult[]> {
  return await Promise.all(
    FORMATS.map(async (format) => {
      const argv = await argvOf(example, value);
      const result = await cli.run([...argv, '-o', format], { env });
      expect(() => parseAs(format, result.stdout)).not.toThrow();
      if (result.exitCode !== 0) expect(() => parseAs(format, result.stderr)).not.toThrow();
      expect(result.stdout + result.stderr).not.toContain(api.adminKey);
      return result;
    }),
  );
}

const codesOf = (results: readonly CliResult[]): number[] => [...new Set(results.map(({ exitCode }) => exitCode))];
/** They start servers of their own: the suites start and demo of test/process run them. */
const SERVERS = new Set(['start', 'migrate', 'demo']);
const named = (filter: (row: (typeof COMMANDS)[number]) => boolean = () => true): [name: string, example: string][] =>
  COMMANDS.filter(({ name }) => !SERVERS.has(name))
    .filter(filter)
    .map(({ name, example }) => [name, example]);

beforeAll(async () => {
  api = await startApi({
    ROLLCALL_SEALING_KEY: 'k'.repeat(32),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
    ROLLCALL_QUOTAS: 'webhooks=1000,contracts=1000',
  });
  cli = new CliSession({ ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey });
  cli.write('agents/clerk.md', CLERK);
  cli.write('fleet.yaml', FLEET);
  cli.write('.rollcall/admin.key', api.adminKey);
  const clock = { description: 'Reads.', instructions: 'Read.', tools: ['clock'] };
  await post('/v1/definitions', { name: 'clerk', content: clock });
  await api.call('PUT', '/v1/definitions/clerk', { body: { content: { ...clock, instructions: 'Read it.' } } });
  await post('/v1/definitions', { name: 'guarded', content: { ...clock, approve: { clock: 'operator' } } });
  await post('/v1/definitions', { name: 'asker', content: { ...clock, mayAsk: true } });
  await api.given.namespace(EMPTY_NAMESPACE);
  ({ leaseToken } = await api.given.agent({ agentId: 'holder' }));
}, 120_000);
afterAll(async () => {
  cli.remove();
  await api.stop();
});

describe('every command in every format (S1.11)', () => {
  it.each(named())('%s succeeds as in its example', async (_, example) => {
    const results = await inEveryFormat(example.replace('http://127.0.0.1:8080', api.url));
    expect(results.filter(({ exitCode }) => exitCode !== 0)).toEqual([]);
  });

  const LISTS = named(({ name, options }) => 'limit' in options && !name.includes('query') && !name.includes('ledger'));
  it.each([
    ...LISTS.filter(([, example]) => !example.includes('$')),
    ['events tail', 'rollcall events tail --after oldest --until-now'],
  ])('%s prints nothing that cannot be parsed if there is nothing', async (name) => {
    const more = name === 'events tail' ? ['--after', 'oldest', '--until-now', '--types', 'run.cancelled'] : [];
    const line = ['rollcall', name, ...more].join(' ');
    const results = await inEveryFormat(line, { ROLLCALL_NAMESPACE: EMPTY_NAMESPACE });
    expect(codesOf(results)).toEqual([0]);
    const json = results[FORMATS.indexOf('json')]?.stdout ?? '';
    if (!/^(keys|namespaces|audit)/.test(name)) expect(JSON.parse(json)).toEqual([]);
  });

  it.each(named(({ example }) => /\$(?!NEW)[A-Z]/.test(example) && !example.includes('--subject')))(
    '%s ends with code 3 for an unknown id',
    async (_, example) => {
      const results = await inEveryFormat(example, {}, '999999999');
      expect(results.filter(({ exitCode }) => exitCode !== 3)).toEqual([]);
      const json = JSON.parse(results[FORMATS.indexOf('json')]?.stderr ?? '') as { error: object };
      expect(json).toMatchObject({ error: { code: expect.stringMatching(/_NOT_FOUND$/) as string, exitCode: 3 } });
    },
  );

  const CALLING = named(({ permission, name }) => (permission !== undefined && name !== 'login') || name === 'doctor');
  it.each(CALLING)('%s ends with code 4 for a key without the permission, and for a wrong key', async (_, example) => {
    const forbidden = await inEveryFormat(example, { ROLLCALL_KEY: leaseToken }, 'nobody');
    expect(forbidden.filter(({ exitCode }) => exitCode !== 4)).toEqual([]);
    expect(forbidden.map(({ stderr, stdout }) => stderr + stdout).join('')).not.toContain(leaseToken);
    const { exitCode } = await cli.run(await argvOf(example, 'nobody'), { env: { ROLLCALL_KEY: 'rk_wrong_key' } });
    expect(exitCode).toBe(4);
  });

  // all at once, because each pauses before it tries again
  it('every command ends with code 5 if the server is away', async () => {
    const away = async ([name, example]: [string, string]): Promise<{ name: string; codes: number[] }> => {
      const soon = example.replace('--within 30s', '--within 100ms');
      return { name, codes: codesOf(await inEveryFormat(soon, { ROLLCALL_URL: 'http://127.0.0.1:1' }, 'nobody')) };
    };
    const results = await Promise.all(CALLING.map(away));
    expect(results).toEqual(CALLING.map(([name]) => ({ name, codes: [5] })));
  });

  it('login ends with code 4 for a wrong key, with 5 if the server is away, and then stores nothing', async () => {
    cli.write('wrong.key', 'rk_wrong_key');
    const login = 'rollcall login --key-file wrong.key --as wrong';
    expect(codesOf(await inEveryFormat(login))).toEqual([4]);
    expect(codesOf(await inEveryFormat(login, { ROLLCALL_URL: 'http://127.0.0.1:1' }))).toEqual([5]);
    expect((await cli.run(['context', 'use', 'wrong'])).exitCode).toBe(3);
  });

  it.each(named(({ destroys }) => destroys === true))(
    '%s asks nothing without a terminal, and changes nothing without --yes',
    async (_, example) => {
      const argv = (await argvOf(example)).filter((word) => word !== '--yes');
      const result = await cli.run(argv);
      expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('--yes') as string });
    },
  );

  it.each([
    [['agents', 'lst'], 'list'],
    [['agents', 'list', '--statos', 'active'], '--status'],
    [['agents', 'list', '--status', 'sleeping'], 'active'],
    [['budgets', 'open'], '--kind'],
    [['runs', 'get'], 'rollcall runs get --help'],
    [['run', 'hello'], '--definition'],
    [['api', 'FETCH', '/v1/me'], 'GET'],
    [['wait', 'moon/1'], 'run/ID'],
    [['api', 'POST', '/v1/agents', '--data', '@missing.json'], 'There is no file'],
    [['api', 'POST', '/v1/agents', '--data', '@agents'], 'is a folder'],
    [['apply', '-f', 'missing.yaml'], 'There is no file'],
    [['apply', '-f', 'agents'], 'is a folder'],
    [['definitions', 'import', 'missing.md'], 'There is no file'],
    [['whoami', '--key-file', 'missing.key'], 'There is no file'],
    [['start-server'], 'rollcall --help'],
    [['-o', 'json', 'start'], 'first word'],
  ])('the wrong command line %j ends with code 2 and a hint, in every format', async (argv, hint) => {
    for (const format of FORMATS) {
      const result = await cli.run([...argv, ...(argv[0] === '-o' ? [] : ['-o', format])]);
      expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(hint) as string });
      expect(() => parseAs(argv[0] === '-o' ? 'json' : format, result.stderr)).not.toThrow();
    }
  });
});

describe('the help', () => {
  it.each([[['help', 'agents', 'list']], [['agents', 'help', 'list']], [['agents', 'list', '-h']]])(
    '%j prints the help of the command',
    async (argv) => {
      const { stdout } = await cli.run(['agents', 'list', '--help']);
      expect(stdout).toContain('Usage: rollcall agents list [options]');
      expect(await cli.run(argv)).toEqual({ exitCode: 0, stdout, stderr: '' });
    },
  );

  it('help of no command lists all commands', async () => {
    const { stdout } = await cli.run(['help']);
    for (const { name } of COMMANDS) expect(stdout).toContain(`\n  ${name.split(' ')[0]}`);
  });
});

describe('the connection', () => {
  it('an option takes precedence over the environment, the environment over the context, and the context over the key of the folder', async () => {
    const none = { ROLLCALL_KEY: '', ROLLCALL_URL: '' };
    const fromOf = async (argv: string[], env: Record<string, string>): Promise<unknown> =>
      (parseAs('json', (await cli.run(['whoami', '-o', 'json', ...argv], { env })).stdout) as { keyFrom: string })
        .keyFrom;
    cli.write('other.key', api.adminKey);
    const file = join(cli.folder, 'other.key');
    await cli.run(['login', '--key-file', 'other.key', '--as', 'here']);
    expect(await fromOf(['--url', api.url, '--key-file', 'other.key'], { ROLLCALL_KEY: 'wrong' })).toBe('--key-file');
    expect(await fromOf([], {})).toBe('ROLLCALL_KEY');
    expect(await fromOf([], { ROLLCALL_KEY: '', ROLLCALL_KEY_FILE: file })).toBe('ROLLCALL_KEY_FILE');
    expect(await fromOf([], none)).toBe('the context here');
    expect(await fromOf(['--context', 'here'], { ROLLCALL_KEY: 'wrong' })).toBe('the context here');
    await cli.run(['context', 'delete', 'here', '--yes']);
    expect(await fromOf([], { ROLLCALL_KEY: '' })).toBe('.rollcall/admin.key');
  });

  it('contexts are in a file that only its owner reads, and a file that others can read is refused', async () => {
    await cli.run(['login', '--key-file', '.rollcall/admin.key', '--as', 'mine']);
    const file = join(cli.folder, '.config/rollcall/contexts.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { chmodSync } = await import('node:fs');
    chmodSync(file, 0o644);
    expect(await cli.run(['context', 'list'])).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(`chmod 600 ${file}`) as string,
    });
    chmodSync(file, 0o600);
  });

  it('the key of a context is not sent to another server', async () => {
    await cli.run(['login', '--key-file', '.rollcall/admin.key', '--as', 'mine']);
    const { keyFrom } = parseAs(
      'json',
      (
        await cli.run(['doctor', '-o', 'json', '--url', 'http://192.0.2.1:1', '--timeout', '50ms'], {
          env: { ROLLCALL_KEY: '' },
        })
      ).stdout || '{}',
    ) as { keyFrom?: string };
    expect(keyFrom).toBeUndefined();
    const { findConnection } = await import('../../apps/cli/src/connection/connection.js');
    const io = { env: { HOME: cli.folder }, folder: cli.folder };
    expect(findConnection({ url: 'http://192.0.2.1:1' }, io)).toMatchObject({ key: undefined, keyFrom: 'none' });
    expect(findConnection({}, io)).toMatchObject({ key: api.adminKey, url: api.url });
  });
});

describe('rollcall apply', () => {
  it('makes the differences that the dry run prints, and changes nothing when it is applied again', async () => {
    const changesOf = async (...more: string[]): Promise<unknown> =>
      (
        parseAs('json', (await cli.run(['apply', '-f', 'fleet.yaml', '-o', 'json', ...more])).stdout) as {
          change: string;
        }[]
      ).map(({ change }) => change);
    expect(await changesOf('--dry-run')).toEqual(['changed', 'created', 'created']);
    expect(await changesOf()).toEqual(['changed', 'created', 'created']);
    expect(await changesOf()).toEqual(['unchanged', 'unchanged', 'unchanged']);
    const file = join(cli.folder, 'builders.key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const key = readFileSync(file, 'utf8').trim();
    expect((await api.call('GET', '/v1/me', { key })).body).toMatchObject({ roles: ['agent'] });
  });
});

describe('rollcall conversations get', () => {
  it('prints the messages of a conversation, oldest first', async () => {
    for (const input of ['My name is Ada.', 'Hello again.'])
      await startedRun('clerk', input, { conversationId: 'two-runs' });
    const { stdout } = await cli.run(['conversations', 'get', 'two-runs']);
    expect(stdout.match(/(?<=^user: ).*/gm)).toEqual(['My name is Ada.', 'Hello again.']);
  });
});

describe('the program', () => {
  let child: ChildProcess;
  let output: string;

  /** With an open stdin, in which nothing is ever written. */
  function startProgram(...argv: string[]): void {
    output = '';
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: cli.folder, ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey };
    child = spawn(process.execPath, [PROGRAM, ...argv], { cwd: cli.folder, env, stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdout?.on('data', (chunk) => (output += String(chunk)));
  }

  it('waits for no input', async () => {
    startProgram('agents', 'list', '-o', 'json');
    expect(await once(child, 'close')).toEqual([0, null]);
    expect(JSON.parse(output)).toEqual(expect.arrayContaining([expect.objectContaining({ agentId: 'holder' })]));
  });

  it('ends a stream with code 130 after Ctrl-C, and its output can be parsed', async () => {
    startProgram('events', 'tail', '--after', 'oldest', '-o', 'json');
    await until('events are printed', () => output.includes('agent.joined'));
    child.kill('SIGINT');
    expect(await once(child, 'close')).toEqual([130, null]);
    expect((JSON.parse(output) as unknown[]).length).toBeGreaterThan(0);
  });
});

/** A terminal removes everything after the cursor when it receives one of these. */
const CLEAR = '\u001b[J';
const CLEAR_BELOW = '\u001b[0J';
/** `script` of util-linux runs a command on a terminal. */
const onLinux = process.platform === 'linux' ? it : it.skip;

describe('on a terminal', () => {
  let terminal: ChildProcess;
  let screen: string;

  function start(line: string): void {
    screen = '';
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: cli.folder, TERM: 'xterm', ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey };
    const program = `trap : INT; stty cols 100; ${process.execPath} ${PROGRAM} ${line}; echo "[exit $?]"`;
    terminal = spawn('script', ['-qec', program, '/dev/null'], { cwd: cli.folder, env, stdio: 'pipe' });
    terminal.stdout?.on('data', (chunk) => (screen += String(chunk)));
  }
  const shows = async (text: string): Promise<void> =>
    await until(`the terminal shows ${text}`, () => screen.includes(text));
  afterEach(() => void terminal.kill());

  onLinux('a question stays visible while it is answered', async () => {
    const context = await VARIABLES['CONTEXT']?.();
    start(`context delete ${context}`);
    await shows('[y/N]');
    terminal.stdin?.write('y\n');
    await shows('[exit 0]');
    const visible = screen.split(CLEAR_BELOW).at(-1);
    expect(visible).toContain(`Delete the context ${context}? [y/N]`);
    expect(visible).toContain(`Deleted the context ${context}.`);
  });

  onLinux('Ctrl-C ends a question and a stream with code 130, and is no error', async () => {
    for (const [line, shown] of [
      [`agents evict holder`, '[y/N]'],
      ['events tail', 'Waiting for events.'],
    ] as const) {
      start(line);
      await shows(shown);
      terminal.stdin?.write('\u0003');
      await shows('[exit 130]');
      expect(screen).not.toContain('Error');
    }
  });

  onLinux('a run shows its tree, its text and its cost while it is executed, and removes them at the end', async () => {
    start('run "Read the clock 3 times." --definition clerk');
    await shows('[exit 0]');
    expect(screen).toContain('● clerk running');
    expect(screen).toContain('tool clock {}');
    const end = screen.split(CLEAR).at(-1);
    expect(end).toMatch(/✓ clerk completed \d+s · \d+ tokens \$0\.\d+\s+I have read the clock 3 times\./);
  });
});
