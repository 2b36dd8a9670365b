import type { ModelMiddleware, ModelNext, RunMiddleware, RunNext } from './middleware.js';
import { ObservedRun } from './observed.run.js';

type Observing = Extract<RunMiddleware, { observe: unknown }>;

/** The first middleware is the outermost. Compose once for each agent, not for each run. */
export function composeRun(middleware: readonly RunMiddleware[], loop: RunNext): RunNext {
  let observing: Observing[] = [];
  let next = loop;
  for (const one of middleware.toReversed()) {
    if ('observe' in one) observing.push(one);
    else [next, observing] = [wrapped(one, observed(observing, next)), []];
  }
  return observed(observing, next);
}

function wrapped(one: Exclude<RunMiddleware, Observing>, next: RunNext): RunNext {
  return (call) => one.run(call, next);
}

/** `observing` is ordered from the innermost to the outermost. All share one wrapper, because each event passes through every wrapper. */
function observed(observing: readonly Observing[], next: RunNext): RunNext {
  if (observing.length === 0) return next;
  return (call) => {
    const observers = observing.map((one) => one.observe(call));
    return new ObservedRun(next(call), observers);
  };
}

/** The first middleware is the outermost. Compose once for each agent, not for each call. */
export function composeModel(middleware: readonly ModelMiddleware[], call: ModelNext): ModelNext {
  return middleware.reduceRight<ModelNext>((next, one) => (made) => one.call(made, next), call);
}
