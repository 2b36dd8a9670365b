import type { BudgetParts } from '../../testing/budget-parts.js';
import { given } from '../../testing/given.js';
import { expectSound } from '../../testing/test-budgets.js';
import { TwoReplicas } from '../../testing/two-replicas.js';

let replicas: TwoReplicas;
let here: BudgetParts;
let there: BudgetParts;

beforeEach(async () => {
  replicas = await TwoReplicas.start();
  [here, there] = [replicas.here.budgets, replicas.there.budgets];
});
afterEach(async () => await replicas.stop());

const of = ({ owner, key }: { owner: string; key: string }): { owner: string; key: string } => ({ owner, key });

describe('a tree of runs', () => {
  it('B2 a tree of depth 3 with concurrent children spends no more than its limit, and counts own and subtree usage of each run', async () => {
    const noLimit = { tokens: null, microUsd: null };
    const root = await here.budgets.openRun('root', null, { tokens: 500, microUsd: null }, 'test');
    const spent = new Map<string, number>();
    const children = ['a', 'b', 'c'];
    for (const child of children) {
      await here.budgets.openRun(child, 'root', child === 'b' ? { tokens: 60, microUsd: null } : noLimit, 'test');
      for (const leaf of ['1', '2']) await here.budgets.openRun(child + leaf, child, noLimit, 'test');
    }
    const nodes = ['root', ...children, ...children.flatMap((child) => [`${child}1`, `${child}2`])];
    const work = nodes.flatMap((runId, index) =>
      Array.from({ length: 30 }, async (_, round) => {
        const { ledger } = (index + round) % 2 ? here : there;
        const held = await ledger.reserve(given.reservation(7, { runId })).catch(() => undefined);
        if (!held) return;
        await ledger.settle(of(held), { tokens: 1 + (round % 7), microUsd: 0 });
        spent.set(runId, (spent.get(runId) ?? 0) + 1 + (round % 7));
      }),
    );
    await Promise.all(work);
    const total = [...spent.values()].reduce((sum, count) => sum + count, 0);
    expect(total).toBeGreaterThan(250);
    expect(total).toBeLessThanOrEqual(500);
    const below = (runId: string): number =>
      nodes
        .filter(
          (node) =>
            runId === 'root' || node === runId || (runId.length === 1 && node.startsWith(runId) && node !== 'root'),
        )
        .reduce((sum, node) => sum + (spent.get(node) ?? 0), 0);
    for (const runId of nodes) {
      const [reading] = await here.budgets.of('run', runId);
      expect({ runId, own: reading?.budget.own.tokens, subtree: reading?.budget.used.tokens }).toEqual({
        runId,
        own: spent.get(runId) ?? 0,
        subtree: below(runId),
      });
    }
    expect(below('b')).toBeLessThanOrEqual(60);
    const [rootReading] = await here.budgets.of('run', 'root');
    const listed = await here.budgets.list(100, 0, { under: rootReading?.budget });
    expect(listed.map(({ budget }) => budget.subject).toSorted()).toEqual(
      nodes.filter((node) => node !== 'root').toSorted(),
    );
    expect(root.path).toEqual([]);
    await expectSound(here);
  });

  it('B2 opens each run once, and only below an existing run', async () => {
    const limit = { tokens: 5, microUsd: null };
    const nodes = await Promise.all(
      Array.from(
        { length: 10 },
        async (_, index) => await (index % 2 ? here : there).budgets.openRun('r', null, limit, 't'),
      ),
    );
    expect(new Set(nodes.map(({ id }) => id)).size).toBe(1);
    await expect(here.budgets.openRun('x', 'unknown', limit, 't')).rejects.toMatchObject({
      code: 'BUDGET_NOT_FOUND',
      message: expect.stringContaining('POST /v1/budgets/runs creates one') as string,
    });
  });

  it('B2 rejects a request for an existing run with another limit or parent; the original request may be repeated after a top-up', async () => {
    const limit = { tokens: 5, microUsd: null };
    await here.budgets.openRun('root', null, limit, 't');
    const { id } = await here.budgets.openRun('r', 'root', limit, 't');
    await here.budgets.topUp(id, { tokens: 10 }, { by: 'op', note: null });
    expect(await there.budgets.openRun('r', 'root', limit, 't')).toMatchObject({ id, limit: { tokens: 15 } });
    const other = [
      there.budgets.openRun('r', 'root', { tokens: 6, microUsd: null }, 't'),
      there.budgets.openRun('r', 'root', { tokens: 5, microUsd: 1 }, 't'),
      there.budgets.openRun('r', null, limit, 't'),
    ];
    for (const attempt of other) await expect(attempt).rejects.toMatchObject({ code: 'BUDGET_EXISTS' });
    await expectSound(here);
  });
});
