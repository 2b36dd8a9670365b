import { mock } from 'node:test';
import Fastify from 'fastify';
import type { FastifyReply } from 'fastify';
import { until } from '#rollcall/test-support';
import { InFlight } from './in-flight.js';

/** Longer than the test can take, so that the duration of the test has no effect. */
const LIMIT_MS = 600_000;

describe('InFlight', () => {
  it('sends one response to a request that exceeds the time limit, and none to other requests', async () => {
    const inFlight = new InFlight(LIMIT_MS);
    const server = Fastify();
    const overdue = Promise.withResolvers<string>();
    server.addHook('onRequest', (_request, reply, done) => {
      inFlight.begin(reply);
      done();
    });
    server.get('/overdue', async () => await overdue.promise);
    await server.listen({ port: 0, host: '127.0.0.1' });
    const answer = fetch(`${server.listeningOrigin}/overdue`);
    await until('the request is in progress', () => inFlight.count === 1);
    expect(inFlight.answerOverdue(performance.now() + LIMIT_MS / 2)).toBe(0);
    expect(inFlight.answerOverdue(performance.now() + LIMIT_MS * 2)).toBe(1);
    expect(inFlight.answerOverdue(performance.now() + LIMIT_MS * 2)).toBe(0);
    const response = await answer;
    expect({ status: response.status, retryAfter: response.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '1',
    });
    expect(await response.json()).toMatchObject({ code: 'TIMED_OUT' });
    overdue.resolve('too late');
    await server.close();
  });

  it('does not count the time while the body of a request is arriving', () => {
    const inFlight = new InFlight(LIMIT_MS);
    const raw = { complete: false };
    inFlight.begin({ sent: true, request: { raw } } as unknown as FastifyReply);
    expect(inFlight.answerOverdue(performance.now() + LIMIT_MS * 5)).toBe(0);
    expect(inFlight.count).toBe(1);
  });

  it('a request that waits intentionally has no limit, and its duration is measured', () => {
    const times = mock.method(performance, 'now', () => 1_000);
    const inFlight = new InFlight(LIMIT_MS);
    const reply = { sent: false, request: { raw: { complete: true } } } as unknown as FastifyReply;
    inFlight.begin(reply);
    inFlight.exempt(reply);
    expect(inFlight.answerOverdue(LIMIT_MS * 5)).toBe(0);
    times.mock.mockImplementation(() => 3_500);
    expect(inFlight.end(reply)).toBe(2_500);
    times.mock.restore();
  });
});
