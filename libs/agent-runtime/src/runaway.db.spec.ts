import { Logger } from '@nestjs/common';
import { type Agent, type AgentResult, message, type ModelRequest } from '#rollcall/providers';
import {
  callTool,
  callTools,
  expectNoOpenResources,
  openResources,
  say,
  ScriptedModel,
  using,
} from '#rollcall/providers/testing';
import { TwoReplicas } from '#rollcall/registry/testing';
import { until } from '#rollcall/test-support';
import { ReactAgent } from './agents/react.agent.js';
import type { ReactOptions } from './agents/react.options.js';
import { ProcessTreeCounter } from './delegation/delegation.limits.js';
import { delegationToolBox } from './delegation/delegation.toolbox.js';
import { AgentFactoryRegistry } from './delegation/targets/agent.factories.js';
import type { TreeLimits } from './loop/run.context.js';
import { defaultMiddleware } from './middleware/default.middleware.js';
import { ModelCircuit } from './middleware/model-circuit.middleware.js';
import { LedgerSpending } from './spending/ledger.spending.js';
import { ReservationRecovery } from './spending/reservation.recovery.js';
import { FakeAgent, neverEnds } from './testing/fake.agent.js';
import { aRun, TestCalls } from './testing/tool-calls.js';
import { ToolExecutor } from './tools/tool.executor.js';
import { defineTool, toolBox } from './tools/tool.js';

const USED = { inputTokens: 10, outputTokens: 5 };
const TOKENS = 15;
const LIMITS: TreeLimits = { maxDepth: 3, maxWidth: 4, maxRuns: 12 };
const LOG = { log: () => undefined, warn: () => undefined, error: () => undefined };

type Script = (request: ModelRequest, call: number) => ReturnType<typeof say>;

let replicas: TwoReplicas;
let spending: LedgerSpending;
let registry: AgentFactoryRegistry;
let models: Map<string, ScriptedModel[]>;
let runs = 0;
/** The tokens that all models together reported in a test. */
let spent = 0;
let before: Map<string, number>;

beforeAll(async () => {
  Logger.overrideLogger(false);
  replicas = await TwoReplicas.start();
  const { budgets, ledger } = replicas.here.budgets;
  spending = new LedgerSpending(budgets, ledger, new ReservationRecovery(ledger));
});
afterAll(async () => await replicas.stop());
beforeEach(async () => {
  registry = new AgentFactoryRegistry();
  models = new Map();
  spent = 0;
  await openConnections();
  before = openResources();
});

/** Opens all connections of both pools in advance. A pool keeps them, so a connection that a run opens would look like a leak. */
async function openConnections(): Promise<void> {
  const services = [replicas.here.budgets.budgets, replicas.there.budgets.budgets];
  const reads = services.flatMap((budgets) => Array.from({ length: 50 }, async () => await budgets.of('run', 'none')));
  await Promise.all(reads);
}

/** An agent with all default middleware, paid from the ledger. A model call uses 15 tokens, unless its script states a usage. */
function agent(name: string, script: Script, options: ReactOptions = {}): ReactAgent {
  const model = new ScriptedModel((request, call) => {
    const step = script(request, call);
    const { inputTokens = 0, outputTokens = 0 } = step.usage ?? USED;
    spent += inputTokens + outputTokens;
    return using({ inputTokens, outputTokens }, step);
  });
  models.set(name, [...(models.get(name) ?? []), model]);
  const middleware = defaultMiddleware({
    log: LOG,
    circuit: new ModelCircuit(),
    budget: { spending, defaultOutputTokens: 200, finalOutputTokens: 64 },
  });
  const made = new ReactAgent({
    name,
    description: '',
    instructions: '',
    model,
    options: { maxIterations: 4, ...options },
    runMiddleware: middleware.run,
    modelMiddleware: middleware.model,
    executor: new ToolExecutor({ defaultTimeoutMs: 200, maxInputBytes: 100_000, maxOutputChars: 50_000 }),
    delegation: { counter, payment: { spending } },
  });
  made.setRegistry(registry);
  return made;
}
const counter = new ProcessTreeCounter();

function factory(name: string, script: Script, options: ReactOptions = {}): void {
  registry.register(name, `The agent ${name}.`, () => agent(name, script, options));
}

interface Ended {
  result: AgentResult;
  runId: string;
  /** The tokens of the run itself, of its subtree, and of open reservations, according to the ledger. */
  own: number;
  subtree: number;
  held: number;
}

async function run(
  root: Agent,
  { signal, limits = LIMITS, tokens }: { signal?: AbortSignal; limits?: TreeLimits; tokens?: number } = {},
): Promise<Ended> {
  const runId = `run-${(runs += 1)}`;
  const place = { namespace: 'default', rootRunId: runId, runId, agentName: root.name, ancestry: [], depth: 0 };
  let result: AgentResult | undefined;
  const options = {
    context: { ...place, deadline: null, limits },
    ...(signal && { signal }),
    ...(tokens && { budget: { tokens } }),
  };
  for await (const event of root.handle(message('Begin.'), options))
    if (event.type === 'finished') result = event.result;
  if (!result) throw new Error('no result');
  return { result, runId, ...(await ledgerOf(runId)) };
}

async function ledgerOf(runId: string): Promise<Pick<Ended, 'own' | 'subtree' | 'held'>> {
  const [reading] = await replicas.there.budgets.budgets.of('run', runId);
  const budget = reading?.budget;
  return { own: budget?.own.tokens ?? -1, subtree: budget?.used.tokens ?? -1, held: budget?.reserved.tokens ?? -1 };
}

const callsOf = (name: string): number => (models.get(name) ?? []).reduce((sum, { calls }) => sum + calls.length, 0);

/** Expects that the ledger has the exact usage of the tree, and that no reservation and no resource is left open. */
async function expectExact({ subtree, held }: Ended): Promise<void> {
  expect([subtree, held]).toEqual([spent, 0]);
  expect(spent).toBeGreaterThan(0);
  await expectNoOpenResources(before);
}

const delegateTo =
  (name: string): Script =>
  (_request, call) =>
    callTool('delegate_to_agent', { agent: name, task: 'Do it.' }, `${name}-${call}`);
/** The outputs of all tool results in the requests of an agent. */
function toolOutputsOf(name: string): string {
  const requests = (models.get(name) ?? []).flatMap(({ calls }) => calls.map(({ request }) => request));
  const results = requests.flatMap(({ messages }) =>
    messages.flatMap((one) => (one.role === 'tool' ? one.content : [])),
  );
  return results.map(({ output }) => output).join('\n');
}

describe('a tree of runs that would not end', () => {
  it('S2.5 B2 two agents cannot delegate to each other in a cycle, and both stop at their iteration limit', async () => {
    factory('a', delegateTo('b'));
    factory('b', delegateTo('a'));
    const ended = await run(agent('a', delegateTo('b')));
    expect(ended.result).toMatchObject({ outcome: 'stopped', reason: 'iterations' });
    expect(toolOutputsOf('b')).toContain('cannot receive a part of it');
    expect([callsOf('a'), callsOf('b'), ended.own]).toEqual([4, 16, 4 * TOKENS]);
    await expectExact(ended);
  });

  it('S2.5 B2 an agent cannot delegate to itself, and stops at its iteration limit', async () => {
    factory('a', delegateTo('a'));
    const ended = await run(agent('a', delegateTo('a')));
    expect(ended.result).toMatchObject({ outcome: 'stopped', reason: 'iterations' });
    expect([callsOf('a'), toolOutputsOf('a').includes('yourself')]).toEqual([4, true]);
    await expectExact(ended);
  });

  it('S4.6 B2 a chain of 50 agents ends at the depth limit of the tree', async () => {
    for (let level = 1; level <= 50; level += 1)
      factory(`level-${level}`, (request, call) =>
        call === 1 ? delegateTo(`level-${level + 1}`)(request, call) : say(`level ${level} ended`),
      );
    const root = agent('level-0', (request, call) =>
      call === 1 ? delegateTo('level-1')(request, call) : say('ended'),
    );
    const ended = await run(root);
    expect(ended.result).toMatchObject({ outcome: 'completed' });
    expect([callsOf('level-3'), callsOf('level-4'), toolOutputsOf('level-3').includes('no tool named')]).toEqual([
      2,
      0,
      true,
    ]);
    await expectExact(ended);
  });

  it('S2.5 B2 a run cannot start 50 agents at once, neither in one call nor in many', async () => {
    factory('leaf', () => say('leaf'));
    const task = { agent: 'leaf', task: 'x' };
    const script: Script = (_request, call) => {
      if (call === 1) return callTool('spawn_agents', { tasks: Array.from({ length: 50 }, () => task) });
      if (call === 2)
        return callTools(
          ...Array.from({ length: 50 }, (_, at): [string, unknown, string] => ['delegate_to_agent', task, `w${at}`]),
        );
      return say('ended');
    };
    const ended = await run(agent('wide', script));
    expect(ended.result).toMatchObject({ outcome: 'completed' });
    expect([callsOf('leaf'), toolOutputsOf('wide').includes('At most 4')]).toEqual([4, true]);
    await expectExact(ended);
  });

  it('S2.5 B2 agents that fan out at every level stop at the run limit of the tree', async () => {
    const fan: Script = (_request, call) =>
      call === 1
        ? callTool('spawn_agents', {
            tasks: ['x', 'y', 'z'].map((agentName) => ({ agent: agentName, task: 'x' })),
            mode: 'collect',
          })
        : say('ended');
    for (const name of ['x', 'y', 'z']) factory(name, fan);
    const ended = await run(agent('fan', fan), { limits: { ...LIMITS, maxDepth: 10 } });
    expect(ended.result).toMatchObject({ outcome: 'completed' });
    const started = ['x', 'y', 'z'].reduce((sum, name) => sum + (models.get(name)?.length ?? 0), 0);
    expect(started).toBeGreaterThan(3);
    expect(started).toBeLessThanOrEqual(LIMITS.maxRuns);
    await expectExact(ended);
  });

  it('S2.1 B2 an agent whose model always calls tools stops at its iteration limit', async () => {
    const root = agent('busy', (_request, call) => callTool('tick', {}, `t${call}`), { maxIterations: 10 });
    root.addToolBoxes(toolBox('test', [defineTool({ name: 'tick', description: 'Ticks.', execute: () => 'tock' })]));
    const ended = await run(root);
    expect(ended.result).toMatchObject({ outcome: 'stopped', reason: 'iterations' });
    expect(callsOf('busy')).toBe(10);
    await expectExact(ended);
  });

  describe('whose children want 5,000 tokens each', () => {
    const names = ['g1', 'g2', 'g3'];
    const tasks = names.map((name) => ({ agent: name, task: 'x' }));
    const ticking = toolBox('test', [defineTool({ name: 'tick', description: 'Ticks.', execute: () => 'tock' })]);
    /** Uses all output tokens that the request allows. */
    const greedy: Script = ({ settings }, call) =>
      using({ inputTokens: 10, outputTokens: settings?.maxOutputTokens }, callTool('tick', {}, `t${call}`));
    beforeEach(() => {
      const options = { toolFilter: { allow: ['tick'] }, settings: { maxOutputTokens: 5_000 } };
      for (const name of names) factory(name, greedy, options);
    });
    /** The output tokens that each model call of a child was granted. */
    const granted = (): (number | undefined)[] => {
      const calls = names.flatMap((name) => models.get(name) ?? []).flatMap((model) => model.calls);
      return calls.map(({ request }) => request.settings?.maxOutputTokens);
    };

    it('B2 the children of a parent with 500 tokens share its budget, and each child stops at it', async () => {
      const runId = `run-${(runs += 1)}`;
      const limit = { tokens: 500, microUsd: null };
      await spending.openRun({ namespace: 'default', runId, parentRunId: null, limit });
      const box = delegationToolBox(registry, { toolboxes: [ticking] }, { counter, payment: { spending } });
      const calls = new TestCalls(box, { maxOutputChars: 50_000 }, aRun({ runId, rootRunId: runId }));
      const { output } = await calls.call('spawn_agents', { tasks, mode: 'collect' });
      expect(output.match(/outcome="[\w-]+"/g)).toEqual(names.map(() => 'outcome="stopped"'));
      expect(granted().length).toBeGreaterThan(0);
      expect(granted().every((tokens) => tokens !== undefined && tokens < 500)).toBe(true);
      const { own, subtree, held } = await ledgerOf(runId);
      expect([own, subtree, held]).toEqual([0, spent, 0]);
      expect([spent > 0, spent <= 500]).toEqual([true, true]);
      await expectNoOpenResources(before);
    });

    it('B2 a parent whose children used its budget still gives its final answer', async () => {
      const script: Script = (_request, call) =>
        call === 1 ? callTool('spawn_agents', { tasks, mode: 'collect' }) : say('What I know.');
      const options = { toolFilter: { allow: ['spawn_agents', 'tick'] }, settings: { maxOutputTokens: 50 } };
      const root = agent('thrifty', script, options);
      root.addToolBoxes(ticking);
      const ended = await run(root, { tokens: 2_000 });
      expect(ended.result.parts).toMatchObject([{ text: 'What I know.' }]);
      expect(granted().length).toBeGreaterThan(0);
      expect(toolOutputsOf('thrifty').match(/outcome="stopped"/g)).toHaveLength(3);
      expect([ended.own, ended.subtree > ended.own, ended.subtree <= 2_000]).toEqual([2 * TOKENS, true, true]);
      await expectExact(ended);
    });
  });

  it('S2.2 B2 a tool that never returns is abandoned at its time limit, and the run continues', async () => {
    const root = agent('patient', (_request, call) => (call === 1 ? callTool('hang', {}) : say('ended')));
    const hang = defineTool({
      name: 'hang',
      description: 'Hangs.',
      execute: async () => await new Promise(() => undefined),
    });
    root.addToolBoxes(toolBox('test', [hang]));
    const ended = await run(root);
    expect(ended.result).toMatchObject({ outcome: 'completed' });
    expect(toolOutputsOf('patient')).toContain('did not finish within 200 ms');
    await expectExact(ended);
  });

  it('S2.5 B2 a child that ignores its abort is abandoned within a second, and its unknown usage is charged in full', async () => {
    const stubborn = new FakeAgent('stubborn', () => neverEnds(), 'api');
    registry.register('stubborn', 'Never ends.', () => stubborn);
    const caller = new AbortController();
    const root = agent('boss', delegateTo('stubborn'));
    const running = run(root, { signal: caller.signal }).catch((error: unknown) => error);
    await until('the child works', () => stubborn.calls.length === 1);
    const { context, budget } = stubborn.calls[0]?.options ?? {};
    caller.abort();
    expect(await running).toMatchObject({ code: 'CALL_ABORTED' });
    await until('the child is shut down', () => stubborn.isShutDown, 1_000);
    expect(await ledgerOf(context?.runId ?? '')).toEqual({ own: budget?.tokens, subtree: budget?.tokens, held: 0 });
    expect(await ledgerOf(context?.rootRunId ?? '')).toEqual({
      own: TOKENS,
      subtree: TOKENS + (budget?.tokens ?? 0),
      held: 0,
    });
    await expectNoOpenResources(before);
  });
});
