import { FairTurns } from './fair.turns.js';

const BUSY = 1;
const IDLE = 0.5;
const LIMIT = 8;

/** Begins requests of a group, and records which of them have started. */
function begin(turns: FairTurns, name: string, count: number): { started: number } {
  const state = { started: 0 };
  for (let n = 0; n < count; n += 1) {
    const wait = turns.begin(name);
    if (wait) void wait.then(() => (state.started += 1));
    else state.started += 1;
  }
  return state;
}

const settled = async (): Promise<void> => await new Promise(setImmediate);

describe('the turns of a busy replica', () => {
  it('S-4 a group that sends too much waits for itself, in order, and another group does not wait', async () => {
    const turns = new FairTurns();
    turns.note('calm');
    turns.note('crowd');
    turns.apply(BUSY, 100);
    const crowd = begin(turns, 'crowd', 50);
    expect(crowd.started).toBe(LIMIT);
    expect(begin(turns, 'calm', 1).started).toBe(1);
    for (let ended = 1; ended <= 10; ended += 1) turns.end('crowd');
    await settled();
    expect(crowd.started).toBe(LIMIT + 10);
  });

  it('S-4 no request waits while the replica has time, or while only one group sends requests', () => {
    const turns = new FairTurns();
    turns.note('calm');
    turns.apply(IDLE, 100);
    expect(begin(turns, 'crowd', 50).started).toBe(50);
    const alone = new FairTurns();
    alone.note('calm');
    begin(alone, 'crowd', 1);
    alone.apply(BUSY, 5_000); // calm has sent nothing for seconds
    expect(begin(alone, 'crowd', 50).started).toBe(50);
  });

  it('S-4 all requests start when the replica has time again, and none waits longer than a second', async () => {
    const turns = new FairTurns();
    turns.note('calm');
    turns.note('crowd');
    turns.apply(BUSY, 100);
    const crowd = begin(turns, 'crowd', 20);
    turns.note('calm');
    turns.apply(BUSY, 600);
    await settled();
    expect(crowd.started).toBe(LIMIT);
    turns.apply(BUSY, 1_100);
    await settled();
    expect(crowd.started).toBe(20);
    const later = begin(turns, 'crowd', 5);
    expect(later.started).toBe(0);
    turns.apply(IDLE, 1_200);
    await settled();
    expect(later.started).toBe(5);
  });

  it('S-4 a group is forgotten when its requests have ended and it sends nothing', async () => {
    const turns = new FairTurns();
    begin(turns, 'calm', 1);
    begin(turns, 'crowd', 20);
    for (let n = 0; n < 20; n += 1) turns.end('crowd');
    turns.apply(BUSY, 10_000);
    const calm = begin(turns, 'calm', 50);
    expect(calm.started).toBe(50);
  });
});
