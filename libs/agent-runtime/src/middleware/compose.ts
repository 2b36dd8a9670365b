import type { ModelMiddleware, ModelNext, RunMiddleware, RunNext } from './middleware.js';

/** The first middleware is the outermost. Compose once for each agent, not for each run. */
export function composeRun(middleware: readonly RunMiddleware[], loop: RunNext): RunNext {
  return middleware.reduceRight<RunNext>((next, one) => (call) => one.run(call, next), loop);
}

/** The first middleware is the outermost. Compose once for each agent, not for each call. */
export function composeModel(middleware: readonly ModelMiddleware[], call: ModelNext): ModelNext {
  return middleware.reduceRight<ModelNext>((next, one) => (made) => one.call(made, next), call);
}
