import { RegistryClock } from './registry.clock.js';

describe('the clock of the registry', () => {
  it('goes on from what the database said, whatever the clock of this machine says', async () => {
    let monotonic = 5_000;
    const clock = new RegistryClock(() => monotonic);
    expect(clock.now()).toBe(0);
    await clock.synchronise(async () => 1_000_000);
    monotonic += 750;
    expect(clock.now()).toBe(1_000_750);
  });

  it('takes an answer for the middle of the time it took', async () => {
    let monotonic = 0;
    const clock = new RegistryClock(() => monotonic);
    await clock.synchronise(async () => {
      monotonic += 200;
      return 1_000_000;
    });
    expect(clock.now()).toBe(1_000_100);
  });

  it('follows the database when its clock is set', async () => {
    const clock = new RegistryClock(() => 0);
    await clock.synchronise(async () => 1_000_000);
    await clock.synchronise(async () => 400_000);
    expect(clock.now()).toBe(400_000);
  });

  it('does not trust an answer that was long under way, unless it has had no other for long', async () => {
    let monotonic = 0;
    const clock = new RegistryClock(() => monotonic);
    const slowly = async (): Promise<number> => {
      monotonic += 1_000;
      return 5_000_000;
    };
    await clock.synchronise(async () => 1_000_000);
    await clock.synchronise(slowly);
    expect(clock.now()).toBe(1_001_000);
    monotonic += 60_000;
    await clock.synchronise(slowly);
    expect(clock.now()).toBe(5_000_500);
  });

  it('keeps what it knew when the database does not answer', async () => {
    const clock = new RegistryClock(() => 0);
    await clock.synchronise(async () => 7);
    await expect(clock.synchronise(async () => await Promise.reject(new Error('gone')))).rejects.toThrow('gone');
    expect(clock.now()).toBe(7);
  });
});
