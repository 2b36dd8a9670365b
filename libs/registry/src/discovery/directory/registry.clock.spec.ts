import { RegistryClock } from './registry.clock.js';

describe('the registry clock', () => {
  it('continues from the time of the database with the monotonic clock', async () => {
    let monotonic = 5_000;
    const clock = new RegistryClock(() => monotonic);
    expect(clock.now()).toBe(0);
    await clock.synchronise(async () => 1_000_000);
    monotonic += 750;
    expect(clock.now()).toBe(1_000_750);
  });

  it('assumes that the database read its clock in the middle of the round trip', async () => {
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

  it('ignores a slow response, unless the last accepted response is old', async () => {
    let monotonic = 0;
    const clock = new RegistryClock(() => monotonic);
    const slowResponse = async (): Promise<number> => {
      monotonic += 1_000;
      return 5_000_000;
    };
    await clock.synchronise(async () => 1_000_000);
    await clock.synchronise(slowResponse);
    expect(clock.now()).toBe(1_001_000);
    monotonic += 60_000;
    await clock.synchronise(slowResponse);
    expect(clock.now()).toBe(5_000_500);
  });

  it('keeps its time when the database does not respond', async () => {
    const clock = new RegistryClock(() => 0);
    await clock.synchronise(async () => 7);
    await expect(clock.synchronise(async () => await Promise.reject(new Error('no response')))).rejects.toThrow(
      'no response',
    );
    expect(clock.now()).toBe(7);
  });
});
