import { createContext, Script } from 'node:vm';

const context = createContext({});
const script = new Script('work()');

/** Runs synchronous code. After this time, stops it and throws an error with the code ERR_SCRIPT_EXECUTION_TIMEOUT. */
export function withinBudget<Result>(ms: number, work: () => Result): Result {
  const before = context['work'] as unknown;
  context['work'] = work;
  try {
    return script.runInContext(context, { timeout: ms }) as Result;
  } finally {
    context['work'] = before;
  }
}

export function isOverBudget(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}
