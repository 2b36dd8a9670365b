import type { RunOutcome } from '../loop/run.outcome.js';
import { given, outcomeOf } from '../testing/index.js';
import { composeRun } from './compose.js';
import type { LoopEvents, RunMiddleware } from './middleware.js';
import { timeout } from './timeout.middleware.js';

const COMPLETED: RunOutcome = { type: 'completed', parts: [] };

async function* loop(): LoopEvents {
  yield given.progress();
  return COMPLETED;
}

async function run(middleware: readonly RunMiddleware[]): Promise<RunOutcome> {
  return await outcomeOf(composeRun(middleware, loop)(given.runCall()));
}

describe('the observers of a run', () => {
  it('S2.8 calls observers in the order of the chain, even if a middleware that wraps the run is between them', async () => {
    const order: string[] = [];
    const observer = (name: string): RunMiddleware => ({
      name,
      observe: () => ({
        onStart: () => void order.push(`${name} starts`),
        onEvent: () => void order.push(`${name} event`),
        onOutcome: () => order.push(`${name} outcome`),
        onEnd: () => void order.push(`${name} ends`),
      }),
    });
    await run([observer('a'), observer('b'), timeout(60_000), observer('c')]);
    expect(order.join(', ')).toBe(
      'a starts, b starts, c starts, c event, b event, a event, ' +
        'c outcome, c ends, b outcome, b ends, a outcome, a ends',
    );
  });

  it.each([
    ['returns an outcome', async () => await Promise.resolve(COMPLETED), ['a completed', 'a ends', 'b ends']],
    ['throws', async () => await Promise.reject(new Error('down')), ['a down', 'a ends', 'b ends']],
  ])('S2.8 if the start of an observer %s, the observers inside it are not called', async (_name, start, expected) => {
    const seen: string[] = [];
    const observer = (name: string, onStart?: () => Promise<RunOutcome>): RunMiddleware => ({
      name,
      observe: () => ({
        ...(onStart && { onStart }),
        onOutcome: ({ type }) => void (onStart ?? seen.push(`${name} ${type}`)),
        onError: (error) => (onStart ? error : (seen.push(`${name} ${(error as Error).message}`), error)),
        onEnd: () => void seen.push(`${name} ends`),
      }),
    });
    const chain = [observer('a'), observer('b', start), observer('c')];
    await run(chain).catch(() => undefined);
    expect(seen.toSorted()).toEqual(expected.toSorted());
  });

  it('M-4 fails the run if an observer cannot process an event, and ends the loop and the other observers', async () => {
    const seen: string[] = [];
    const observer = (name: string, onEvent?: () => never): RunMiddleware => ({
      name,
      observe: () => ({
        ...(onEvent && { onEvent }),
        onError: (error) => (seen.push(`${name} ${(error as Error).message}`), error),
        onEnd: () => void seen.push(`${name} ends`),
      }),
    });
    const fails = (): never => {
      throw new Error('broken');
    };
    const closing = async function* (): LoopEvents {
      try {
        yield given.progress();
        return COMPLETED;
      } finally {
        seen.push('loop ends');
      }
    };
    const chain = composeRun([observer('a'), observer('b', fails)], closing);
    await expect(outcomeOf(chain(given.runCall()))).rejects.toThrow('broken');
    expect(seen).toEqual(['loop ends', 'b broken', 'b ends', 'a broken', 'a ends']);
  });
});
