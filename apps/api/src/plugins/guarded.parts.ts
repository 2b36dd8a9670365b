import type { NamedFactory, RunMiddleware, Tool, ToolBox } from '#rollcall/agent-runtime';
import { type AgentProvider, type ModelProvider, type ModelVendor, ProviderError } from '#rollcall/providers';
import type { BudgetSource, ScoringRule } from '#rollcall/registry';
import type { PluginGuard } from './plugin.guard.js';

/*
 * Each function returns a part of a plugin whose code the guard calls. It names each field, because the methods of an object with
 * private fields cannot be called on a copy.
 */

export function guardedTool(tool: Tool, guard: PluginGuard): Tool {
  const { name, description, inputSchema, idempotent, needsApproval, approve, timeoutMs } = tool;
  return {
    name,
    description,
    inputSchema,
    idempotent,
    needsApproval,
    ...(approve !== undefined && { approve }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    parse: (input) => guard.call('tool', () => tool.parse(input)),
    execute: (input, context) => guard.call('tool', () => tool.execute(input, context)),
    onTimeout: () => guard.report('tool', new Error(`The tool ${name} did not finish in time.`), 'timeout'),
  };
}

/** The same list of tools gives the same list of guarded tools, because the runtime compares lists by identity. */
export function guardedBox(box: ToolBox, guard: PluginGuard): ToolBox {
  const guarded = new WeakMap<readonly Tool[], readonly Tool[]>();
  return {
    name: box.name,
    tools: (context) => {
      const tools = guard.call('toolbox', () => box.tools(context));
      const known = guarded.get(tools) ?? tools.map((tool) => guardedTool(tool, guard));
      guarded.set(tools, known);
      return known;
    },
    ...(box.isFor && { isFor: (namespace: string) => guard.call('toolbox', () => box.isFor?.(namespace) ?? true) }),
  };
}

export function guardedCheck<Call extends unknown[], Verdict>(
  check: (...call: Call) => Verdict | Promise<Verdict>,
  guard: PluginGuard,
): (...call: Call) => Promise<Verdict> {
  return async (...call) => await guard.within('guardrail', guard.limits.guardrailMs, () => check(...call));
}

/** The names of middleware in `GET /v1/definitions/{name}/effective` begin with the plugin. */
export function guardedMiddleware(one: RunMiddleware, guard: PluginGuard): RunMiddleware {
  const name = `${guard.plugin}.${one.name}`;
  return 'observe' in one ? { name, observe: guardedObserver(one, guard) } : { name, run: guardedRun(one, guard) };
}

type Observe = Extract<RunMiddleware, { observe: unknown }>['observe'];
type Run = Extract<RunMiddleware, { run: unknown }>['run'];

/**
 * What happens before and during the run may fail the run. What happens at its end may not: the outcome exists, and other observers
 * must be called.
 */
function guardedObserver(one: { observe: Observe }, guard: PluginGuard): Observe {
  const part = 'middleware';
  return (call) => {
    let observer: ReturnType<Observe>;
    try {
      observer = guard.call(part, () => one.observe(call));
    } catch (error) {
      const fail = (): never => {
        throw error;
      };
      return { onStart: fail };
    }
    return {
      ...(observer.onStart && { onStart: () => guard.call(part, () => observer.onStart?.()) }),
      ...(observer.onNext && { onNext: () => guard.call(part, () => observer.onNext?.()) }),
      ...(observer.onEvent && { onEvent: (event) => guard.call(part, () => observer.onEvent?.(event)) }),
      ...(observer.onOutcome && { onOutcome: (outcome) => guard.attempt(part, () => observer.onOutcome?.(outcome)) }),
      ...(observer.onError && {
        onError: (error) => {
          const replaced = guard.attempt(part, () => ({ error: observer.onError?.(error) }));
          return replaced ? replaced.error : error;
        },
      }),
      ...(observer.onAbandoned && { onAbandoned: () => guard.attempt(part, () => observer.onAbandoned?.()) }),
      ...(observer.onEnd && {
        onEnd: async () => {
          await guard.within(part, guard.limits.callMs, () => observer.onEnd?.()).catch(() => undefined); // reported
        },
      }),
    };
  };
}

/** Errors of the rest of the run pass through the middleware; they are not failures of the plugin. */
function guardedRun(one: { run: Run }, guard: PluginGuard): Run {
  return async function* (call, next) {
    const foreign = new Set<unknown>();
    try {
      return yield* one.run(call, (made) => watched(made, next, foreign));
    } catch (error) {
      if (!foreign.has(error)) guard.report('middleware', error);
      throw error;
    }
  };
}

async function* watched(call: Parameters<Run>[0], next: Parameters<Run>[1], errors: Set<unknown>): ReturnType<Run> {
  try {
    return yield* next(call);
  } catch (error) {
    errors.add(error);
    throw error;
  }
}

export function guardedFactory({ name, description, create }: NamedFactory, guard: PluginGuard): NamedFactory {
  return {
    name,
    description,
    create: async (depth) => await guard.within('factory', guard.limits.callMs, async () => await create(depth)),
  };
}

export function guardedProvider(provider: AgentProvider, guard: PluginGuard): AgentProvider {
  const { name, agentType, settingsSchema } = provider;
  const part = 'agent provider';
  return {
    name,
    agentType,
    ...(settingsSchema && { settingsSchema }),
    ...(provider.describe && {
      describe: (namespace?: string) => guard.call(part, () => provider.describe?.(namespace) ?? { about: name }),
    }),
    createAgent: async (config) =>
      await guard.within(part, guard.limits.callMs, async () => await provider.createAgent(config)),
  };
}

/** A `ProviderError`, such as a rejected request, is an answer of the vendor and not a failure of the plugin. */
export function guardedVendor(vendor: ModelVendor, guard: PluginGuard): ModelVendor {
  const { name, needsKey, needsBaseUrl, about } = vendor;
  const unlessAnswer = (error: unknown): void => {
    const { name: kind } = error as { name?: unknown };
    if (!(error instanceof ProviderError) && kind !== 'AbortError') guard.report('model vendor', error);
  };
  return {
    name,
    needsKey,
    ...(needsBaseUrl !== undefined && { needsBaseUrl }),
    ...(about !== undefined && { about }),
    open: (connection) => {
      try {
        return guardedModel(vendor.open(connection), unlessAnswer);
      } catch (error) {
        unlessAnswer(error);
        throw error;
      }
    },
  };
}

function guardedModel(model: ModelProvider, report: (error: unknown) => void): ModelProvider {
  const { vendor, model: name } = model;
  return {
    vendor,
    model: name,
    complete: async (request, options) => {
      try {
        return await model.complete(request, options);
      } catch (error) {
        report(error);
        throw error;
      }
    },
    async *stream(request, options) {
      try {
        yield* model.stream(request, options);
      } catch (error) {
        report(error);
        throw error;
      }
    },
  };
}

/** The auction uses the default rule if this one fails. */
export function guardedRule(rule: ScoringRule, guard: PluginGuard): ScoringRule {
  return {
    name: rule.name,
    score: (contenders, weights) =>
      guard.call('scoring rule', () => {
        const scores = rule.score(contenders, weights);
        const wrong = scores.find(({ score }) => !Number.isFinite(score));
        if (wrong) throw new TypeError(`The scoring rule ${rule.name} returned ${wrong.score} for ${wrong.agentId}.`);
        return scores;
      }),
  };
}

export function guardedSource(source: BudgetSource, guard: PluginGuard): BudgetSource {
  return {
    name: source.name,
    usage: async (query) =>
      await guard.within('budget source', guard.limits.callMs, async () => await source.usage(query)),
  };
}
