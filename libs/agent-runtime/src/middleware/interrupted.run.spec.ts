import * as fc from 'fast-check';
import { InMemorySpending } from '../testing/index.js';
import { InterruptedRun } from '../testing/interrupted.run.js';

describe('a paid run whose replica dies', () => {
  it('B2 B6 charges each recorded reply and each failed attempt once, reserves nothing at the end, and keeps its memory, wherever its replicas die', async () => {
    const seen = { summaries: 0, finalReplies: 0, deaths: 0, shared: 0 };
    const options = fc.record({
      limit: fc.record({ tokens: fc.option(fc.integer({ min: 150, max: 700 })), microUsd: fc.constant(null) }),
      isRenewed: fc.boolean(),
      contextWindow: fc.option(fc.constant(60), { nil: undefined }),
      turns: fc.array(fc.nat(3), { maxLength: 5 }),
      failures: fc.array(fc.nat(2), { maxLength: 6 }),
    });
    const deaths = fc.array(fc.nat(80), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(options, deaths, async (given, points) => {
        const spending = new InMemorySpending();
        const run = new InterruptedRun(spending, given);
        await run.execute(points);
        const { own, reserved } = await spending.usageOf({ namespace: 'default', runId: 'run-1' });
        expect([own.tokens, reserved.tokens]).toEqual([run.billed, 0]);
        const calls = run.steps.filter(({ type }) => type === 'tool-finished').length;
        expect(run.state.memory?.map(({ value }) => value) ?? [0]).toEqual([calls]);
        seen.deaths += run.deaths;
        const keys = (run.state.charges ?? []).map(({ key }) => key);
        seen.shared += keys.length - new Set(keys).size;
        seen.summaries += run.steps.filter(({ type }) => type === 'context-summarised').length;
        seen.finalReplies += run.steps.filter((step) => step.type === 'model-replied' && step.isFinal).length;
      }),
      { numRuns: 500 },
    );
    expect(Object.values(seen)).not.toContain(0);
  });

  const final = [{ type: 'stopped', reason: 'budget' }, { isFinal: true }];
  const completed = [{ type: 'completed' }, { type: 'model-replied' }];
  it.each([
    ['a final call', { limit: { tokens: 400, microUsd: null } }, final],
    ['a final call, and renewals', { limit: { tokens: 400, microUsd: null }, isRenewed: true }, final],
    ['calls that one reservation pays', {}, completed],
    ['calls that one reservation pays, and renewals', { isRenewed: true }, completed],
  ])(
    'B2 B6 charges nothing twice if the replica dies at any point of a run with a failed attempt, tools and %s',
    async (_name, options, expected) => {
      let [at, hasDied] = [0, true];
      for (; hasDied; at += 1) {
        const spending = new InMemorySpending();
        const run = new InterruptedRun(spending, { turns: [2, 1, 1, 1, 1, 1], failures: [1], ...options });
        const outcome = await run.execute([at]);
        const { own, reserved } = await spending.usageOf({ namespace: 'default', runId: 'run-1' });
        expect([at, own.tokens, reserved.tokens]).toEqual([at, run.billed, 0]);
        expect([outcome, run.steps.at(-1)]).toMatchObject(expected);
        hasDied = run.deaths > 0;
      }
      expect(at).toBeGreaterThan(20);
    },
  );
});
