import { setImmediate as turn } from 'node:timers/promises';
import { Gate } from './gate.js';

describe('Gate', () => {
  it('A8 gives the place of work that has ended to the one that waits, not to a newcomer beside it', async () => {
    const gate = new Gate({ most: 1, failsAll: () => false });
    let running = 0;
    let most = 0;
    const work = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await turn();
      running -= 1;
    };
    const first = gate.run(work);
    const second = gate.run(work);
    const newcomer = first.then(async () => await gate.run(work));
    await Promise.all([first, second, newcomer]);
    expect([most, gate.waiting]).toEqual([1, 0]);
  });
});
