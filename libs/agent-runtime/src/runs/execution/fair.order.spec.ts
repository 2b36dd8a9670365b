import { fairOrder, Turns, type WaitingRun } from './fair.order.js';

/** Waiting runs from texts like `a/ann/writer`, the oldest first. */
function waitingRuns(...texts: string[]): WaitingRun[] {
  return texts.map((text, index) => Object.assign(use(text), { id: `${text}#${index}`, seq: index }));
}

function use(text: string): { namespace: string; createdBy: string; agentId: string } {
  const [namespace = '', createdBy = 'ann', agentId = 'writer'] = text.split('/');
  return { namespace, createdBy, agentId };
}

const ids = (runs: readonly WaitingRun[]): string[] => runs.map(({ id }) => id);

describe('the fair order of waiting runs', () => {
  const limits = { most: 10, perAgent: 10 };

  it('S-5 gives slots to namespaces in turn, and to the oldest run of each', () => {
    const order = fairOrder(waitingRuns('a', 'a', 'a', 'b', 'c'), [], limits, new Turns());
    expect(ids(order)).toEqual(['a#0', 'b#3', 'c#4', 'a#1', 'a#2']);
  });

  it('S-5 gives the slots of a namespace to its callers in turn', () => {
    const order = fairOrder(waitingRuns('a/ann', 'a/ann', 'a/ann', 'a/bob', 'b/cy'), [], limits, new Turns());
    expect(ids(order)).toEqual(['a/ann#0', 'b/cy#4', 'a/bob#3', 'a/ann#1', 'a/ann#2']);
  });

  it('S-5 counts the runs that already have a slot', () => {
    const running = [use('a'), use('a'), use('b')];
    expect(ids(fairOrder(waitingRuns('a', 'b', 'c'), running, limits, new Turns()))).toEqual(['c#2', 'b#1', 'a#0']);
  });

  it('S-5 gives a single slot to namespaces and callers in turn, even if one of them always has the oldest run', () => {
    const turns = new Turns();
    const served: string[] = [];
    let waiting = waitingRuns('a/ann', 'a/ann', 'a/bob', 'a/bob', 'b', 'b', 'c');
    for (;;) {
      const [next] = fairOrder(waiting, [], { ...limits, most: 1 }, turns);
      if (!next) break;
      turns.taken(next);
      served.push(`${next.namespace}/${next.createdBy}`);
      waiting = waiting.filter(({ id }) => id !== next.id);
    }
    expect(served).toEqual(['a/ann', 'b/ann', 'c/ann', 'a/bob', 'b/ann', 'a/ann', 'a/bob']);
  });

  it('S-5 leaves out runs beyond the limit of their agent, so that they hide no others', () => {
    const waiting = waitingRuns('a/ann/writer', 'a/ann/writer', 'a/ann/reader');
    const order = fairOrder(waiting, [use('a/bob/writer')], { most: 10, perAgent: 2 }, new Turns());
    expect(ids(order)).toEqual(['a/ann/writer#0', 'a/ann/reader#2']);
  });

  it('S-5 gives all slots to the only namespace that waits, up to the number of free slots', () => {
    expect(fairOrder(waitingRuns('a', 'a', 'a'), [use('b')], { ...limits, most: 2 }, new Turns())).toHaveLength(2);
  });

  it('S-5 forgets old turns, so that their number stays limited', () => {
    const turns = new Turns();
    turns.taken(use('first'));
    for (let index = 0; index < 10_000; index += 1) turns.taken(use(`n${index}`));
    expect(turns.of('first')).toBe(0);
    expect(turns.of('n9999')).toBe(10_001);
  });
});
