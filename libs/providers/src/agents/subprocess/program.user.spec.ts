import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '#rollcall/test-support';
import type { AgentEvent } from '../agent.js';
import { ClaudeSdkAgentProvider } from '../claude-sdk/claude-sdk.agent-provider.js';
import type { ClaudeSdk } from '../claude-sdk/claude-sdk.agent.js';
import { ProgramTransport } from '../../mcp/program.transport.js';
import { message, textOfParts } from '../content.part.js';
import { accountOf, type ProgramUser } from './program.user.js';
import { SubprocessAgentProvider } from './subprocess.agent-provider.js';

const OWN = process.getuid?.() ?? -1;
const IS_ROOT = OWN === 0;
const OTHER = Number(execFileSync('id', ['-u', 'nobody'], { encoding: 'utf8' }));

/** Only root can start a program as another user. */
const asRoot = IS_ROOT ? it : it.skip;

describe('the user of a program', () => {
  it('S-11 is the user of Rollcall if the operator says so, and by default only if this is not root', () => {
    expect(accountOf('same', 0)).toBeUndefined();
    expect(accountOf('same', 1_000)).toBeUndefined();
    expect(accountOf(undefined, 1_000)).toBeUndefined();
    expect(accountOf(1_000, 1_000)).toBeUndefined();
    expect(() => accountOf(undefined, 0)).toThrow('Rollcall runs as root');
    expect(() => accountOf(undefined, 0)).toThrow('"same"');
  });

  it('S-11 is another account only if Rollcall runs as root', () => {
    expect(accountOf('nobody', 0)).toMatchObject({ uid: OTHER });
    expect(accountOf(54_321, 0)).toEqual({ uid: 54_321, gid: 54_321 });
    expect(() => accountOf('nobody', 1_000)).toThrow('only root can start a program as another user');
    for (const root of ['root', 0]) expect(() => accountOf(root, 0)).toThrow('its user is root');
    expect(() => accountOf('no-such-user', 0)).toThrow('there is no user no-such-user');
  });
});

/**
 * Answers each message with what it can see: its user, the environment and the files of its parent, and its folder. The second line of
 * the answer is the folder.
 */
const SPY = `
can() { if "$@" >/dev/null 2>&1; then printf yes; else printf no; fi; }
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/^{"type":"message","id":"\\([^"]*\\)".*/\\1/')
  echo private > note
  facts="user $(id -u), environment $(can cat /proc/$PPID/environ), key $(can cat "$1/admin.key"), folder $(can ls "$1"), mode $(stat -c %a .), owner $(stat -c %u .)"
  printf '{"id":"%s","type":"result","text":"%s|%s|%s"}\\n' "$id" "$facts" "$(pwd)" "$(env | cut -d= -f1 | sort | tr '\\n' ' ')"
done`;

describe('a program of a subprocess agent', () => {
  let data: string;
  beforeEach(() => {
    data = mkdtempSync(join(tmpdir(), 'rollcall-data-')); // with mode 0700, as the data folder of Rollcall
    writeFileSync(join(data, 'admin.key'), 'key\n', { mode: 0o600 });
  });
  afterEach(() => rmSync(data, { recursive: true }));

  async function spy(
    user: ProgramUser,
  ): Promise<{ facts: string; folder: string; variables: string; stop(): Promise<void> }> {
    const program = { command: '/bin/sh', args: ['-c', SPY, 'spy', data], env: { PATH: '/usr/bin:/bin' }, user };
    const provider = new SubprocessAgentProvider({ programs: { spy: program }, secrets: () => undefined });
    const agent = await provider.createAgent({ name: 'spy', settings: { program: 'spy' } });
    const events: AgentEvent[] = [];
    for await (const event of agent.handle(message('look'))) events.push(event);
    const { result } = events.at(-1) as Extract<AgentEvent, { type: 'finished' }>;
    const [facts = '', folder = '', variables = ''] = textOfParts(result.parts).split('|');
    return { facts, folder, variables, stop: async () => await agent.shutdown() };
  }

  asRoot('S-11 cannot read the environment, the key and the data of Rollcall under another user', async () => {
    const { facts, folder, variables, stop } = await spy('nobody');
    expect(facts).toBe(`user ${OTHER}, environment no, key no, folder no, mode 700, owner ${OTHER}`);
    expect(readFileSync(join(folder, 'note'), 'utf8')).toBe('private\n');
    expect(variables.trim().split(' ')).toEqual(expect.not.arrayContaining(['HOME', 'TEST_POSTGRES_URL']));
    await stop();
    await until('the folder is removed', () => !existsSync(folder));
  });

  it('S-11 can read them under the same user, and its folder is private and removed', async () => {
    const { facts, folder, stop } = await spy('same');
    expect(facts).toBe(`user ${OWN}, environment yes, key yes, folder yes, mode 700, owner ${OWN}`);
    expect(folder).toContain('rollcall-program-');
    await stop();
    await until('the folder is removed', () => !existsSync(folder));
  });

  it('S-11 a variable that a process deletes stays in /proc, so the user of a program decides what it can read', () => {
    const script = `delete process.env.TOKEN; console.log(process.env.TOKEN, require('fs').readFileSync('/proc/self/environ', 'utf8').includes('TOKEN=x'))`;
    const env = { TOKEN: 'x' };
    expect(execFileSync(process.execPath, ['-e', script], { env, encoding: 'utf8' })).toBe('undefined true\n');
  });
});

/** Prints its user, and whether it can read the environment of its parent, as the text `%s`. */
const FACTS = (format: string): string =>
  `printf '${format}\\n' "user $(id -u), environment $(if cat /proc/$PPID/environ >/dev/null 2>&1; then printf yes; else printf no; fi), owner $(stat -c %u .)"`;

/** Each of them starts one process as this user, and returns what the process can see. */
const OTHER_PROGRAMS: Record<string, (user?: ProgramUser) => Promise<string>> = {
  'an MCP server': async (user) => {
    const script = `${FACTS('{"jsonrpc":"2.0","method":"%s"}')}; cat`;
    const program = { command: '/bin/sh', args: ['-c', script], env: { PATH: '/usr/bin:/bin' }, user };
    const transport = new ProgramTransport(program, 'MCP server spy');
    const seen = new Promise<string>((resolve) => {
      const onmessage = (received: object): void => resolve('method' in received ? String(received.method) : '');
      Object.assign(transport, { onmessage });
    });
    await transport.start();
    try {
      return await seen;
    } finally {
      await transport.close();
    }
  },
  'Claude Code': async (user) => {
    const query: ClaudeSdk['query'] = async function* ({ options: { env, cwd, spawnClaudeCodeProcess } }) {
      const spawned = { command: '/bin/sh', args: ['-c', FACTS('%s')], cwd, env: { PATH: '/usr/bin:/bin', ...env } };
      let result = '';
      for await (const chunk of spawnClaudeCodeProcess(spawned).stdout) result += String(chunk).trim();
      yield { type: 'assistant', parent_tool_use_id: null, message: { content: [{ type: 'text', text: result }] } };
      yield { type: 'result', subtype: 'success', is_error: false, result, modelUsage: {} };
    };
    const provider = new ClaudeSdkAgentProvider({ secrets: () => undefined, load: async () => ({ query }), user });
    const agent = await provider.createAgent({ name: 'spy' });
    try {
      let last: AgentEvent | undefined;
      for await (const event of agent.handle(message('look'))) last = event;
      return last?.type === 'finished' ? textOfParts(last.result.parts) : '';
    } finally {
      await agent.shutdown();
    }
  },
};

describe.each(Object.entries(OTHER_PROGRAMS))('%s that a model can steer', (_what, look) => {
  asRoot('S-11 cannot read the environment of Rollcall under another user, and needs a user', async () => {
    expect(await look('nobody')).toBe(`user ${OTHER}, environment no, owner ${OTHER}`);
    await expect(look()).rejects.toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
  });

  it('S-11 runs as the user of Rollcall if the operator says so', async () => {
    expect(await look('same')).toBe(`user ${OWN}, environment yes, owner ${OWN}`);
  });
});
