import { ConcurrencyLimiter } from './concurrency.limiter.js';

describe('ConcurrencyLimiter', () => {
  it('A8 counts all credentials with the same id together, and each kind of request separately', () => {
    const limiter = new ConcurrencyLimiter({ requests: 2, streams: 1, waits: 3 });
    const slots = limiter.acquire({ id: 'key:a' }, 'requests');
    limiter.acquire({ id: 'key:a' }, 'requests');
    const rejection = { code: 'TOO_MANY_CONCURRENT_REQUESTS', extras: { retryAfterMs: 1_000 } };
    expect(() => limiter.acquire({ id: 'key:a' }, 'requests')).toThrow(expect.objectContaining(rejection));
    limiter.acquire({ id: 'key:a' }, 'streams');
    limiter.acquire({ id: 'key:b' }, 'requests');
    slots.requests -= 1;
    expect(limiter.acquire({ id: 'key:a' }, 'requests')).toEqual({ requests: 2, streams: 1, waits: 0 });
  });

  it('A8 the error advises closing a stream if there are too many streams, waiting if there are too many requests, and an event stream if there are too many waits', () => {
    const limiter = new ConcurrencyLimiter({ requests: 1, streams: 1, waits: 1 });
    for (const kind of ['requests', 'streams', 'waits'] as const) limiter.acquire({ id: 'key:a' }, kind);
    expect(() => limiter.acquire({ id: 'key:a' }, 'streams')).toThrow('Close one of them');
    expect(() => limiter.acquire({ id: 'key:a' }, 'requests')).toThrow('Wait for a response');
    expect(() => limiter.acquire({ id: 'key:a' }, 'waits')).toThrow('start runs without waiting');
  });

  it('A8 a limit of 0 accepts any number of requests', () => {
    const limiter = new ConcurrencyLimiter({ requests: 0, streams: 0, waits: 0 });
    const caller = { id: 'key:a' };
    for (let count = 0; count < 1_000; count++) limiter.acquire(caller, 'requests');
    expect(limiter.acquire(caller, 'requests')).toEqual({ requests: 1_001, streams: 0, waits: 0 });
  });
});
