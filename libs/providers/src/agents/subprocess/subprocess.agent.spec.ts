import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Secret } from '../../secret.js';
import { describeAgentProviderContract } from '../../testing/agent-provider.contract.js';
import { expectNothingLeft, openResources } from '../../testing/leftovers.js';
import { until } from '../../testing/until.js';
import type { Agent, AgentEvent } from '../agent.js';
import { SubprocessAgentProvider, type AllowedProgram } from './subprocess.agent-provider.js';

const PROGRAM = fileURLToPath(new URL('../../testing/obedient-program.mjs', import.meta.url));
const KEY = 'program-key-0123456789';

interface Note {
  what: 'begin' | 'end';
  id: string;
  pid: number;
}

/** A program and the file in which it notes what it does. */
function obedient(more: Partial<AllowedProgram> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'obedient-'));
  const journal = join(folder, 'journal');
  writeFileSync(journal, '');
  const notes = (): Note[] =>
    readFileSync(journal, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Note);
  const program: AllowedProgram = { command: process.execPath, args: [PROGRAM, journal], ...more };
  const provider = new SubprocessAgentProvider({
    programs: { obedient: program },
    secrets: (name) => (name === 'PROGRAM_KEY' ? new Secret(KEY) : undefined),
  });
  return {
    notes,
    make: async (name = 'ada') => await provider.createAgent({ name, settings: { program: 'obedient' } }),
    busy: () => {
      const ended = new Set(notes().flatMap(({ what, id }) => (what === 'end' ? [id] : [])));
      return notes().filter(({ what, id, pid }) => what === 'begin' && !ended.has(id) && isAlive(pid)).length;
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

describeAgentProviderContract('subprocess', {
  agentType: 'subprocess',
  make: async (name) => {
    const program = obedient();
    return {
      agent: await program.make(name),
      play: (scenario) => JSON.stringify(scenario),
      begunCalls: () => program.notes().filter(({ what }) => what === 'begin').length,
      busyCalls: () => program.busy(),
      close: async () => program.remove(),
    };
  },
});

describe('S1.10 a subprocess agent', () => {
  let program: ReturnType<typeof obedient>;
  let agent: Agent;
  let before: Map<string, number>;
  const begin = async (more: Partial<AllowedProgram> = {}): Promise<void> => {
    before = openResources();
    program = obedient(more);
    agent = await program.make();
  };
  afterEach(async () => {
    await agent.shutdown();
    program.remove();
    await expectNothingLeft(before);
  });
  const tell = (does: string, signal?: AbortSignal): AsyncIterator<AgentEvent> =>
    agent.handle({ text: JSON.stringify({ does }) }, { signal })[Symbol.asyncIterator]();

  it('takes its children with it, also when it will not go itself', async () => {
    await begin({ env: { STUBBORN: 'yes', PATH: '/usr/bin:/bin' } });
    const { value } = (await tell('have a child').next()) as { value: { text: string } };
    const [child, parent] = [Number(value.text), program.notes()[0]?.pid ?? 0];
    expect([isAlive(child), isAlive(parent)]).toEqual([true, true]);
    await agent.shutdown();
    await until('both are gone', () => !isAlive(child) && !isAlive(parent), 1_000);
  });

  it('takes its children with it when it crashes', async () => {
    await begin({ env: { PATH: '/usr/bin:/bin' } });
    const { value } = (await tell('have a child').next()) as { value: { text: string } };
    await expect(tell('crash').next()).rejects.toMatchObject({ code: 'AGENT_CRASHED' });
    await until('the child is gone', () => !isAlive(Number(value.text)), 1_000);
  });

  it('is ended and started again when it ignores a cancel', async () => {
    await begin();
    const caller = new AbortController();
    const call = tell('ignore cancel', caller.signal).next();
    await until('it has begun', () => program.busy() === 1);
    caller.abort();
    await expect(call).rejects.toMatchObject({ code: 'CALL_ABORTED' });
    await until('it was ended', () => program.busy() === 0, 1_000);
    const { value } = await tell('show environment').next();
    expect(value).toMatchObject({ type: 'finished' });
    expect(new Set(program.notes().map(({ pid }) => pid)).size).toBe(2);
  });

  it('is ended when it does not speak the wire', async () => {
    await begin();
    await expect(tell('babble').next()).rejects.toMatchObject({ code: 'AGENT_CRASHED', message: /not JSON: Hello/ });
  });

  it('says with its last words why it crashed', async () => {
    await begin();
    await expect(tell('crash').next()).rejects.toMatchObject({
      message: expect.stringContaining('ended with code 3: out of luck'),
    });
  });

  it('sees the environment it was given, keys included, and nothing of ours', async () => {
    await begin({ env: { LANG: 'C' }, secretEnv: ['PROGRAM_KEY'] });
    const { value } = (await tell('show environment').next()) as { value: Extract<AgentEvent, { type: 'finished' }> };
    const seen = JSON.parse(value.result.text) as Record<string, string>;
    expect(seen).toMatchObject({ LANG: 'C', PROGRAM_KEY: KEY });
    expect(Object.keys(seen)).not.toContain('TEST_POSTGRES_URL');
  });

  it('is made only of programs the operator allows, and only if they start', async () => {
    await begin();
    const provider = new SubprocessAgentProvider({
      programs: { broken: { command: '/no/such/program' }, keyed: { command: 'x', secretEnv: ['NO_KEY'] } },
      secrets: () => undefined,
    });
    const make = async (settings: unknown): Promise<unknown> =>
      await provider.createAgent({ name: 'a', settings }).catch((error: unknown) => error);
    expect(await make({ program: 'sh' })).toMatchObject({
      code: 'AGENT_SETTINGS_INVALID',
      message: expect.stringContaining('allows: broken, keyed'),
    });
    expect(await make({ program: 'broken', args: ['-c'] })).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
    expect(await make({ program: 'broken' })).toMatchObject({
      code: 'AGENT_CRASHED',
      message: expect.stringContaining('cannot be started'),
    });
    expect(await make({ program: 'keyed' })).toMatchObject({ code: 'AGENT_SETTINGS_INVALID' });
  });
});

/** Zombies do not count: nobody may be there to collect them. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false; // no such process
  }
}
