import { RateLimiter } from './rate.limiter.js';

describe('RateLimiter', () => {
  it('A7 rejects an address with too many failures until the window ends, and no other address', () => {
    let now = 0;
    const limiter = new RateLimiter(
      () => 'too many',
      () => now,
    );
    limiter.add({ id: '192.0.2.1' });
    limiter.check('192.0.2.1', 2);
    limiter.add({ id: '192.0.2.1' });
    now = 400;
    const rejection = { code: 'RATE_LIMITED', extras: { retryAfterMs: 600 } };
    expect(() => limiter.check('192.0.2.1', 2)).toThrow(expect.objectContaining(rejection));
    limiter.check('192.0.2.2', 2);
    now = 1_000;
    limiter.check('192.0.2.1', 2);
  });

  it('counts all requests with the same id together, and begins again after a second', () => {
    let now = 0;
    const limiter = new RateLimiter(
      (limit) => `more than ${limit}`,
      () => now,
    );
    const [caller, same] = [{ id: 'key:a' }, { id: 'key:a' }];
    limiter.count(caller, 2);
    limiter.count(same, 2);
    now = 250;
    const rejection = { code: 'RATE_LIMITED', message: 'more than 2', extras: { retryAfterMs: 750 } };
    expect(() => limiter.count(caller, 2)).toThrow(expect.objectContaining(rejection));
    limiter.count({ id: 'key:b' }, 2);
    now = 1_000;
    limiter.count(caller, 2);
  });

  it('a limit of 0 accepts any number of requests', () => {
    const limiter = new RateLimiter(() => '');
    const caller = { id: 'key:a' };
    for (let count = 0; count < 1_000; count++) limiter.count(caller, 0);
    expect(caller).toEqual({ id: 'key:a' });
  });

  it('S-3 an expensive request counts as several, and the first one of a second is always accepted', () => {
    let now = 0;
    const limiter = new RateLimiter(
      (limit) => `more than ${limit}`,
      () => now,
    );
    limiter.count({ id: '192.0.2.1' }, 25, 10);
    limiter.count({ id: '192.0.2.1' }, 25, 10);
    expect(() => limiter.count({ id: '192.0.2.1' }, 25, 10)).toThrow(expect.objectContaining({ code: 'RATE_LIMITED' }));
    limiter.count({ id: '192.0.2.2' }, 5, 10);
    now = 1_000;
    limiter.count({ id: '192.0.2.1' }, 25, 10);
  });
});
