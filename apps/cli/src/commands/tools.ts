import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { command, option, type Session } from '../command.js';
import { callApi } from '../connection/raw.call.js';
import { CommandError, EXIT, describeFailure, usageError } from '../failure.js';
import { readGivenFile } from '../given.file.js';
import { checks, type Check } from './doctor.js';
import type { View } from '../output/view.js';

const DEFAULT_WAIT_MS = 60_000;
const POLL_MS = 250;

interface Waited {
  readonly target: string;
  readonly state: string;
  readonly seconds: number;
}

const CHECKS: View<Check> = {
  plural: 'checks',
  name: ({ check }) => check,
  columns: [
    { title: 'CHECK', value: ({ check }) => check },
    { title: 'STATUS', value: ({ status }) => status, state: true },
    { title: 'DETAIL', whole: true, value: ({ detail }) => detail },
  ],
};

export const toolCommands = [
  command({
    name: 'wait',
    about: 'Wait until something has a state.',
    details:
      'The target is server, agent/ID, run/ID, contract/ID or budget/ID. Default states: server ready, agent active, run finished, contract confirmed. The exit code is 5 after the time limit.',
    example: 'rollcall wait run/$RUN --for finished --within 30s',
    permission: 'agents:read',
    arguments: { target: 'What to wait for.' },
    options: {
      for: option.text('STATE', 'The state to wait for, or gone.'),
      within: option.duration('Time limit (default 60s).'),
    },
    run: async (session, { target }, options) => await wait(session, target, options),
  }),
  command({
    name: 'api',
    about: 'Send a request to the API, and print its response.',
    example: 'rollcall api GET /v1/me',
    permission: 'self:read',
    arguments: { method: 'GET, POST, PUT, PATCH or DELETE.', path: 'Path with its query string.' },
    options: { data: option.text('JSON', 'The body; @FILE reads a file and - reads stdin.', { short: 'd' }) },
    run: async ({ connection, io, output }, { method, path }, { data }) => {
      if (!/^(GET|POST|PUT|PATCH|DELETE)$/i.test(method))
        throw usageError(`${method} is not a method. Use GET, POST, PUT, PATCH or DELETE.`);
      if (!path.startsWith('/')) throw usageError('The path begins with /, such as /v1/agents.');
      const body =
        data === '-'
          ? await io.readInput()
          : data?.startsWith('@') === true
            ? readGivenFile(resolve(io.folder, data.slice(1)))
            : data;
      const { url, key, namespace } = connection;
      const answer = await callApi({
        method: method.toUpperCase(),
        path,
        url,
        key,
        namespace,
        signal: io.signal,
        body,
      });
      await printAnswer(output, answer);
    },
  }),
  command({
    name: 'doctor',
    about: 'Check the connection: the address, the key, the server and its database.',
    example: 'rollcall doctor',
    run: async (session) => {
      const { results, exitCode } = await checks(session);
      await session.output.list(CHECKS, results);
      return exitCode;
    },
  }),
  ...(['bash', 'zsh', 'fish'] as const).map((shell) =>
    command({
      name: `completion ${shell}`,
      about: `Print the completion for ${shell}.`,
      example: {
        bash: 'source <(rollcall completion bash)',
        zsh: 'source <(rollcall completion zsh)',
        fish: 'rollcall completion fish | source',
      }[shell],
      run: async ({ commands, output }) => {
        const { completionFor } = await import('../completion.js');
        const script = completionFor(shell, commands);
        if (output.isText) output.text(script);
        else await output.done(script, { name: () => shell }, { shell, script });
      },
    }),
  ),
];

async function wait(
  session: Session,
  target: string,
  options: { for: string | undefined; within: number | undefined },
): Promise<void> {
  const { io, output } = session;
  const [kind = '', id] = target.split(/\/(.*)/s);
  const { within = DEFAULT_WAIT_MS } = options;
  const known = STATES.get(kind);
  if (!known || (kind !== 'server' && !id))
    throw usageError(`${target} is not a target. Use server, agent/ID, run/ID, contract/ID or budget/ID.`);
  const wanted = options.for ?? known.wanted;
  if (!known.states.includes(wanted))
    throw usageError(`${wanted} is not a state of ${kind}. Use one of: ${known.states.join(', ')}.`);
  if (io.stderr.isTTY === true) output.note(`Waiting until ${target} is ${wanted}. Ctrl-C ends.`);
  const startedAt = performance.now();
  let state = 'unknown';
  for (;;) {
    io.signal.throwIfAborted();
    state = await stateOf(session, kind, id ?? '', wanted);
    const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
    const waited: Waited = { target, state, seconds };
    if (state === wanted || (wanted === 'finished' && FINISHED.has(state)))
      return await output.done(`${target} is ${state}.`, { name: () => target }, waited);
    if (FINAL.has(state)) throw new CommandError('NEVER', `${target} is ${state} and will never be ${wanted}.`);
    if (performance.now() - startedAt > within)
      throw new CommandError('TIMED_OUT', `${target} is ${state}, not ${wanted}, after ${seconds} s.`, EXIT.notNow);
    await delay(POLL_MS, undefined, { signal: io.signal });
  }
}

const STATES = new Map<string, { wanted: string; states: readonly string[] }>(
  Object.entries({
    server: { wanted: 'ready', states: ['ready'] },
    agent: { wanted: 'active', states: ['active', 'suspect', 'draining', 'quarantined', 'left', 'gone'] },
    run: {
      wanted: 'finished',
      states: ['finished', 'running', 'waiting', 'completed', 'refused', 'stopped', 'failed', 'cancelled'],
    },
    contract: { wanted: 'confirmed', states: ['bidding', 'awarded', 'confirmed', 'expired', 'cancelled'] },
    budget: { wanted: 'ample', states: ['ample', 'low', 'exhausted'] },
  }),
);
const FINISHED = new Set(['completed', 'refused', 'stopped', 'failed', 'cancelled']);
/** States after which nothing changes. An agent that has left can register again. */
const FINAL = new Set([...FINISHED, 'expired', 'confirmed']);

async function stateOf({ client }: Session, kind: string, id: string, wanted: string): Promise<string> {
  const { agents, budgets, contracts, health, runs } = await client();
  try {
    if (kind === 'agent') return (await agents.get(id)).status;
    if (kind === 'run') return (await runs.get(id, {})).state;
    if (kind === 'contract') return (await contracts.get(id)).state;
    if (kind === 'budget') return (await budgets.get(id)).condition;
    await health.ready();
    return 'ready';
  } catch (error) {
    const { error: facts } = describeFailure(error);
    if (facts.status === 404 && wanted === 'gone') return 'gone';
    if (kind === 'server' && (facts.code === 'SERVER_UNREACHABLE' || facts.status === 503)) return 'away';
    throw error;
  }
}

async function printAnswer(output: Session['output'], answer: string): Promise<void> {
  if (answer === '') return output.note('The response is empty.');
  let value: unknown;
  try {
    value = JSON.parse(answer);
  } catch {
    value = { text: answer }; // such as /metrics
    if (output.isText) return output.text(answer);
  }
  const id = (value as { id?: unknown }).id;
  await output.done(
    JSON.stringify(value, undefined, 2),
    { name: () => (typeof id === 'string' ? id : 'response') },
    value,
  );
}
