import type { PendingCallView, Rollcall, RunStepView, RunTreeView, RunView } from '#rollcall/client';
import { command, option, type Session } from '../command.js';
import { CommandError, EXIT, type ExitCode, usageError } from '../failure.js';
import { age, count, money, oneLine } from '../output/text.js';
import type { View } from '../output/view.js';
import { LIST_OPTIONS, printList, WATCH_OPTION } from './listing.js';
import { RunWatcher, stepText } from './run.watcher.js';
import { treeLines } from './run.tree.js';

const STATES = ['queued', 'running', 'waiting', 'completed', 'refused', 'stopped', 'failed', 'cancelled'] as const;

type RunFacts = Omit<RunView, 'input' | 'result'>;

const RUN_COLUMNS: View<RunFacts>['columns'] = [
  { title: 'RUN', whole: true, value: ({ id }) => id },
  {
    title: 'STATE',
    value: ({ state, waitingFor }) => (waitingFor === null ? state : `${state} ${waitingFor}`),
    state: true,
  },
  { title: 'AGENT', value: ({ agentId, definition }) => definition?.name ?? agentId },
  { title: 'TOKENS', value: ({ usage }) => count((usage.inputTokens ?? 0) + (usage.outputTokens ?? 0)), right: true },
  { title: 'COST', value: ({ usage }) => money(usage.costMicroUsd), right: true },
  { title: 'AGE', value: ({ createdAt }, now) => age(createdAt, now), right: true },
  { title: 'ROOT', value: ({ rootId, id }) => (rootId === id ? null : rootId), wide: true },
  { title: 'ATTEMPTS', value: ({ attempts }) => attempts, wide: true, right: true },
  { title: 'BY', value: ({ createdBy }) => createdBy, wide: true },
];

const RUNS: View<RunTreeView['run']> = {
  plural: 'runs',
  name: ({ id }) => id,
  columns: [...RUN_COLUMNS, { title: 'INPUT', value: ({ inputPreview }) => inputPreview.text }],
};

const RUN: View<RunView> = {
  plural: 'runs',
  name: ({ id }) => id,
  columns: [
    ...RUN_COLUMNS,
    { title: 'REASON', value: ({ result }) => result?.reason ?? result?.detail },
    { title: 'ERROR', value: ({ result }) => (result?.error ? `${result.error.code}: ${result.error.message}` : null) },
  ],
};

const STEPS: View<RunStepView> = {
  plural: 'steps',
  name: ({ seq }) => String(seq),
  columns: [
    { title: 'SEQ', value: ({ seq }) => seq, right: true },
    { title: 'AT', value: ({ at }) => at.slice(11, 19) },
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'WHAT', value: (step) => oneLine(stepText(step)) },
  ],
};

export const runCommands = [
  command({
    name: 'run',
    about: 'Start a run, watch it, and print its answer.',
    details:
      'The answer is on stdout; the tree of runs, the text in progress and the cost are on stderr. After Ctrl-C, the run continues. The exit code is 0 if the run completed, and 5 if it waits for a person.',
    example: 'rollcall run "Read the clock 2 times." --definition clerk --budget-tokens 100000',
    permission: 'runs:start',
    arguments: { input: 'The task; - reads it from stdin.' },
    options: {
      definition: option.text('NAME', 'Run this definition.', { short: 'd' }),
      agent: option.text('ID', 'Let this agent do it.', { short: 'a' }),
      capabilities: option.list('NAMES', 'Let the best agent with these capabilities do it.'),
      prefer: option.text('STRATEGY', 'How candidates are ranked, with --capabilities.'),
      data: option.text('JSON', 'Data for the agent, as a JSON object.'),
      conversation: option.text('ID', 'Continue the conversation with this id, or begin it.'),
      budgetTokens: option.number('COUNT', 'Most tokens of the run and of the runs that it delegates.'),
      budgetUsd: option.usd('Most US dollars of the run and of the runs that it delegates.'),
      within: option.duration('Deadline, such as 10m.'),
      detach: option.flag('Start the run, print it, and do not wait.'),
    },
    run: async (session, { input }, options) => await startRun(session, input, options),
  }),
  command({
    name: 'runs list',
    about: 'List runs, newest first.',
    example: 'rollcall runs list --state running,waiting',
    permission: 'runs:read',
    options: {
      state: option.list('STATES', 'Only runs in these states.', { choices: STATES }),
      agent: option.text('ID', 'Only runs of this agent.'),
      definition: option.text('NAME', 'Only runs of this definition.'),
      ...LIST_OPTIONS,
      ...WATCH_OPTION,
    },
    run: async (session, _, { state, agent, definition, ...options }) => {
      const client = await session.client();
      const filter = {
        ...(state && { state }),
        ...(agent !== undefined && { agent }),
        ...(definition !== undefined && { definition }),
      };
      await printList(session, RUNS, () => client.runs.list(filter), options);
    },
  }),
  command({
    name: 'runs get',
    about: 'Show a run and its answer.',
    example: 'rollcall runs get $RUN',
    permission: 'runs:read',
    arguments: { id: 'Id of the run.' },
    run: async ({ client, output }, { id }) => await printRun(await client(), output, id),
  }),
  command({
    name: 'runs watch',
    about: 'Watch a run until it ends or waits for a person, and print its answer.',
    example: 'rollcall runs watch $RUN',
    permission: 'runs:read',
    arguments: { id: 'Id of the run.' },
    run: async (session, { id }) => await new RunWatcher(session, await session.client(), RUN).watch(id),
  }),
  command({
    name: 'runs tree',
    about: 'Show a run with the runs that it delegated.',
    example: 'rollcall runs tree $RUN',
    permission: 'runs:read',
    arguments: { id: 'Id of the run.' },
    run: async ({ client, output }, { id }) => {
      const tree = await (await client()).runs.getTree(id);
      if (output.isText) output.text(`${treeLines(tree, Date.now()).join('\n')}\n`);
      else await output.done('', { name: () => id }, tree);
    },
  }),
  command({
    name: 'runs steps',
    about: 'List the stored steps of a run.',
    example: 'rollcall runs steps $RUN',
    permission: 'runs:read',
    arguments: { id: 'Id of the run.' },
    options: LIST_OPTIONS,
    run: async (session, { id }, options) => {
      const client = await session.client();
      await printList(session, STEPS, () => client.runs.listSteps(id, {}), options);
    },
  }),
  command({
    name: 'runs cancel',
    about: 'Cancel a run and the runs that it delegated.',
    example: 'rollcall runs cancel $WAITING --yes',
    permission: 'runs:start',
    destroys: true,
    arguments: { id: 'Id of the run.' },
    run: async ({ client, output, confirm }, { id }) => {
      await confirm(`Cancel the run ${id}?`);
      const run = await (await client()).runs.cancel(id);
      await output.done(`${id} is ${run.state}.`, RUN, run);
    },
  }),
  command({
    name: 'runs retry',
    about: 'Start a failed, stopped or refused run again, as a new run.',
    example: 'rollcall runs retry $FAILED',
    permission: 'runs:start',
    arguments: { id: 'Id of the run.' },
    run: async ({ client, output }, { id }) => {
      const run = await (await client()).runs.retry(id);
      await output.done(`Started the run ${run.id}.`, RUN, run);
    },
  }),
  command({
    name: 'runs reply',
    about: 'Answer the question of a run that waits for input.',
    example: 'rollcall runs reply $ASKING "Yes, both."',
    permission: 'runs:start',
    arguments: { id: 'Id of the run.', text: 'The answer; - reads it from stdin.' },
    run: async ({ client, io, output }, { id, text: answer }) => {
      const input = answer === '-' ? await io.readInput() : answer;
      const run = await (await client()).runs.sendMessage(id, { input });
      await output.done(`${id} is ${run.state}.`, RUN, run);
    },
  }),
  command({
    name: 'approve',
    about: 'Approve the tool call that a run waits for, or reject it.',
    details: 'Without --call, the run must wait for exactly one decision.',
    example: 'rollcall approve $WAITING --reason "checked"',
    permission: 'runs:start',
    arguments: { id: 'Id of the run.' },
    options: {
      call: option.text('ID', 'The call, if the run waits for several.'),
      all: option.flag('Decide all calls that the run waits for.'),
      reject: option.flag('Reject the call.'),
      reason: option.text('TEXT', 'Why; the model reads the reason of a rejection.'),
    },
    run: async (session, { id }, options) => await decide(session, id, options),
  }),
];

interface StartOptions {
  readonly definition: string | undefined;
  readonly agent: string | undefined;
  readonly capabilities: string[] | undefined;
  readonly prefer: string | undefined;
  readonly data: string | undefined;
  readonly conversation: string | undefined;
  readonly budgetTokens: number | undefined;
  readonly budgetUsd: number | undefined;
  readonly within: number | undefined;
  readonly detach: boolean;
}

async function startRun(session: Session, given: string, options: StartOptions): Promise<ExitCode | void> {
  const { definition, agent, capabilities, prefer, budgetTokens, budgetUsd, within, detach } = options;
  if ([definition, agent, capabilities].filter((one) => one !== undefined).length !== 1)
    throw usageError('Say who does it, with one of --definition, --agent and --capabilities.');
  const data = options.data === undefined ? undefined : objectIn(options.data);
  const client = await session.client();
  const run = await client.runs.start({
    input: given === '-' ? await session.io.readInput() : given,
    ...(data && { data }),
    ...(options.conversation !== undefined && { conversationId: options.conversation }),
    ...(definition !== undefined && { definition }),
    ...(agent !== undefined && { agent }),
    ...(capabilities && { capabilities }),
    ...(prefer !== undefined && { prefer }),
    ...((budgetTokens !== undefined || budgetUsd !== undefined) && {
      budget: {
        ...(budgetTokens !== undefined && { tokens: budgetTokens }),
        ...(budgetUsd !== undefined && { microUsd: budgetUsd }),
      },
    }),
    ...(within !== undefined && { deadline: new Date(Date.now() + within).toISOString() }),
  });
  if (detach) return await session.output.done(run.id, RUN, run);
  return await new RunWatcher(session, client, RUN).watch(run.id);
}

function objectIn(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // reported below, like a value that is no object
  }
  throw usageError('--data must be a JSON object, such as \'{"city": "Rome"}\'.');
}

async function printRun({ runs }: Rollcall, output: Session['output'], id: string): Promise<void> {
  const run = await runs.get(id, {});
  const parts = (run.result?.parts ?? []).map((part) => (part.type === 'text' ? part.text : JSON.stringify(part)));
  const pending = (run.result?.approvals ?? []).map(
    (call) => `waits for a decision: ${callText(call)}\n  rollcall approve ${id}`,
  );
  await output.item(RUN, run, [...parts, ...pending]);
}

export function callText({ callId, tool, input }: Pick<PendingCallView, 'callId' | 'tool' | 'input'>): string {
  return `${tool} ${oneLine(JSON.stringify(input))} (${callId})`;
}

interface DecideOptions {
  readonly call: string | undefined;
  readonly all: boolean;
  readonly reject: boolean;
  readonly reason: string | undefined;
}

async function decide(
  { client, output }: Session,
  id: string,
  { call, all, reject, reason }: DecideOptions,
): Promise<ExitCode | void> {
  const { runs } = await client();
  const { result } = await runs.get(id, {});
  const pending = (result?.approvals ?? []).filter(({ callId }) => call === undefined || callId === call);
  if (pending.length === 0)
    throw new CommandError(
      'NOTHING_TO_DECIDE',
      call === undefined ? `The run ${id} waits for no decision.` : `The run ${id} does not wait for the call ${call}.`,
      EXIT.failed,
    );
  if (pending.length > 1 && !all)
    throw usageError(
      `The run waits for several decisions. Use --all, or --call with one of: ${pending.map(callText).join('; ')}`,
    );
  let run: RunView | undefined;
  for (const { callId, inputHash } of pending)
    run = await runs.decide(id, { callId, inputHash, approved: !reject, ...(reason !== undefined && { reason }) });
  const verb = reject ? 'Rejected' : 'Approved';
  if (run)
    await output.done(
      `${verb} ${pending.map(({ tool }) => tool).join(', ')}. The run ${run.id} is ${run.state}.`,
      RUN,
      run,
    );
}
