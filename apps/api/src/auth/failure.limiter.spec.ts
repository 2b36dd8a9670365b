import { FailureLimiter } from './failure.limiter.js';

describe('FailureLimiter', () => {
  it('A7 rejects an address with too many failures until the window ends, and no other address', () => {
    let now = 0;
    const limiter = new FailureLimiter(2, () => now);
    limiter.count('192.0.2.1');
    limiter.check('192.0.2.1');
    limiter.count('192.0.2.1');
    now = 400;
    const rejection = { code: 'RATE_LIMITED', extras: { retryAfterMs: 600 } };
    expect(() => limiter.check('192.0.2.1')).toThrow(expect.objectContaining(rejection));
    limiter.check('192.0.2.2');
    now = 1_000;
    limiter.check('192.0.2.1');
  });
});
