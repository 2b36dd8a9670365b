import { Logger } from '@nestjs/common';
import type { RunMiddleware, ToolContext } from '#rollcall/agent-runtime';
import { type ModelConnection, type ModelRequest, ProviderError } from '#rollcall/providers';
import type { Assessment, BudgetSource } from '#rollcall/registry';
import { PLUGIN_PARTS, type PluginPart, type PluginParts } from './plugin.js';
import { readPlugin } from './plugin.reader.js';
import { Plugins } from './plugins.js';

type Run = Extract<RunMiddleware, { run: unknown }>['run'];
type RunCall = Parameters<Run>[0];
type UsageQuery = Parameters<BudgetSource['usage']>[0];

const LIMITS = { loadMs: 1_000, guardrailMs: 10, callMs: 10 };
const fails = (): never => {
  throw new Error('boom');
};
const hangs = async (): Promise<never> => await new Promise<never>(() => undefined);
/** What the functions below get; they use none of it. */
const nothing = {} as RunCall &
  RunCall['context'] &
  ToolContext &
  ModelConnection &
  ModelRequest &
  Assessment &
  UsageQuery;
const ends: Parameters<Run>[1] = async function* () {
  yield* [];
  return await Promise.resolve({ type: 'completed', parts: [] });
};

interface Case {
  readonly parts: PluginParts;
  /** Calls the code of the part as Rollcall does. */
  call(plugins: Plugins): unknown;
  /** What is counted. */
  readonly counted: string;
}

/** Parts without code of their own, or whose code is called by `PluginSinks` or by Nest. */
const ELSEWHERE: readonly PluginPart[] = ['skills', 'definitions', 'eventSinks', 'modules'];
const tool = { name: 't', description: 'T.', inputSchema: {}, idempotent: true, needsApproval: false };
const parsed = () => ({ ok: true, value: {} }) as const;
const middleware = (one: PluginParts['middleware']): Pick<Case, 'parts' | 'call'> => ({
  parts: { middleware: one ?? [] },
  call: async (plugins) => {
    const [added] = plugins.runtime.middleware;
    if (added && 'run' in added) return await added.run(nothing, ends).next();
    return await added?.observe(nothing).onStart?.();
  },
});
const CASES: Readonly<Record<string, Case>> = {
  'tools: execute': {
    parts: { tools: [{ ...tool, parse: parsed, execute: fails }] },
    call: (plugins) => plugins.runtime.boxes[0]?.tools(nothing)[0]?.execute({}, nothing),
    counted: 'tool error',
  },
  'tools: execute later': {
    parts: { tools: [{ ...tool, parse: parsed, execute: async () => await Promise.reject(new Error('boom')) }] },
    call: (plugins) => plugins.runtime.boxes[0]?.tools(nothing)[0]?.execute({}, nothing),
    counted: 'tool error',
  },
  'tools: parse': {
    parts: { tools: [{ ...tool, parse: fails, execute: fails }] },
    call: (plugins) => plugins.runtime.boxes[0]?.tools(nothing)[0]?.parse({}),
    counted: 'tool error',
  },
  'toolBoxes: tools': {
    parts: { toolBoxes: [{ name: 'box', tools: fails }] },
    call: (plugins) => plugins.runtime.boxes[0]?.tools(nothing),
    counted: 'toolbox error',
  },
  'toolBoxes: isFor': {
    parts: { toolBoxes: [{ name: 'box', tools: () => [], isFor: fails }] },
    call: (plugins) => plugins.runtime.boxes[0]?.isFor?.('default'),
    counted: 'toolbox error',
  },
  'factories: create': {
    parts: { factories: [{ name: 'f', description: 'F.', create: fails }] },
    call: async (plugins) => await plugins.runtime.factories[0]?.create(1),
    counted: 'factory error',
  },
  'factories: never returns': {
    parts: { factories: [{ name: 'f', description: 'F.', create: hangs }] },
    call: async (plugins) => await plugins.runtime.factories[0]?.create(1),
    counted: 'factory timeout',
  },
  'agentProviders: createAgent': {
    parts: { agentProviders: [{ name: 'p', agentType: 'sdk', createAgent: fails }] },
    call: async (plugins) => await plugins.providers.agentProviders?.[0]?.createAgent({ name: 'a' }),
    counted: 'agent provider error',
  },
  'agentProviders: never returns': {
    parts: { agentProviders: [{ name: 'p', agentType: 'sdk', createAgent: hangs }] },
    call: async (plugins) => await plugins.providers.agentProviders?.[0]?.createAgent({ name: 'a' }),
    counted: 'agent provider timeout',
  },
  'modelVendors: open': {
    parts: { modelVendors: [{ name: 'v', needsKey: false, open: fails }] },
    call: (plugins) => plugins.providers.vendors?.[0]?.open(nothing),
    counted: 'model vendor error',
  },
  'modelVendors: complete': {
    parts: {
      modelVendors: [
        { name: 'v', needsKey: false, open: () => ({ vendor: 'v', model: 'm', complete: fails, stream: fails }) },
      ],
    },
    call: async (plugins) => await plugins.providers.vendors?.[0]?.open(nothing).complete(nothing),
    counted: 'model vendor error',
  },
  'strategies: score': {
    parts: { strategies: [{ name: 's', scoreMeaning: '', best: 'highest', score: fails }] },
    call: (plugins) => {
      const [strategy] = plugins.registry.strategies;
      expect(strategy?.score(nothing)).toBeNull();
      return fails();
    },
    counted: 'strategy error',
  },
  'scoringRules: score': {
    parts: { scoringRules: [{ name: 'r', score: fails }] },
    call: (plugins) => plugins.registry.scoring[0]?.score([], { price: 1, eta: 0, confidence: 0, reliability: 0 }),
    counted: 'scoring rule error',
  },
  'middleware: run': { ...middleware([{ name: 'm', run: fails }]), counted: 'middleware error' },
  'middleware: observe': { ...middleware([{ name: 'm', observe: fails }]), counted: 'middleware error' },
  'middleware: onStart': {
    ...middleware([{ name: 'm', observe: () => ({ onStart: fails }) }]),
    counted: 'middleware error',
  },
  'inputGuardrails: never returns': {
    parts: { inputGuardrails: [hangs] },
    call: async (plugins) => await plugins.runtime.inputChecks[0]?.('', nothing.context),
    counted: 'guardrail timeout',
  },
  'outputGuardrails: the check': {
    parts: { outputGuardrails: [fails] },
    call: async (plugins) =>
      await plugins.runtime.outputChecks[0]?.('', nothing.context, { type: 'completed', parts: [] }),
    counted: 'guardrail error',
  },
  'budgetSources: usage': {
    parts: { budgetSources: [{ name: 'b', usage: fails }] },
    call: async (plugins) => await plugins.registry.sources[0]?.usage(nothing),
    counted: 'budget source error',
  },
  'budgetSources: never returns': {
    parts: { budgetSources: [{ name: 'b', usage: hangs }] },
    call: async (plugins) => await plugins.registry.sources[0]?.usage(nothing),
    counted: 'budget source timeout',
  },
};

async function load(parts: PluginParts): Promise<Plugins> {
  const plugin = await readPlugin({ name: 'bad', ...parts }, { use: './bad.js' }, LIMITS);
  return Plugins.of([plugin], LIMITS);
}
const faultsOf = (plugins: Plugins): string[] =>
  plugins.all.flatMap(({ guard }) => guard.faults.map(({ part, kind, count }) => `${part} ${kind} ${count}`));

beforeAll(() => Logger.overrideLogger(false));

describe('the failures of plugins', () => {
  it('M-4 have a case for each kind of part', () => {
    const tested = new Set(Object.keys(CASES).map((name) => name.split(':')[0]));
    expect(PLUGIN_PARTS.filter((part) => !tested.has(part))).toEqual(ELSEWHERE);
  });

  it.each(Object.entries(CASES))('M-4 are counted: %s', async (_name, { parts, call, counted }) => {
    const plugins = await load(parts);
    await expect((async () => await call(plugins))()).rejects.toThrow(/boom|did not answer within 10 ms/);
    expect(faultsOf(plugins)).toEqual([`${counted} 1`]);
  });

  it('M-4 leave the outcome of a run unchanged if an observer fails at its end', async () => {
    const plugins = await load({
      middleware: [
        { name: 'm', observe: () => ({ onOutcome: fails, onError: fails, onAbandoned: fails, onEnd: hangs }) },
      ],
    });
    const [one] = plugins.runtime.middleware;
    const observer = one && 'observe' in one ? one.observe(nothing) : {};
    observer.onOutcome?.({ type: 'completed', parts: [] });
    const error = new Error('of the model');
    expect(observer.onError?.(error)).toBe(error);
    observer.onAbandoned?.();
    await observer.onEnd?.();
    expect(faultsOf(plugins)).toEqual(['middleware error 3', 'middleware timeout 1']);
  });

  it('M-4 do not include what the rest of a run or the vendor of a model rejects', async () => {
    const rejected = new ProviderError('MODEL_REQUEST_REFUSED', 'It is too long.');
    const refuse = async (): Promise<never> => await Promise.reject(rejected);
    const plugins = await load({
      middleware: [
        {
          name: 'm',
          async *run(call, next) {
            return yield* next(call);
          },
        },
      ],
      modelVendors: [
        { name: 'v', needsKey: false, open: () => ({ vendor: 'v', model: 'm', complete: refuse, stream: fails }) },
      ],
    });
    const [one] = plugins.runtime.middleware;
    const run = one && 'run' in one ? one.run(nothing, fails) : undefined;
    await expect(run?.next()).rejects.toThrow('boom');
    await expect(plugins.providers.vendors?.[0]?.open(nothing).complete(nothing)).rejects.toBe(rejected);
    expect(faultsOf(plugins)).toEqual([]);
  });
});
