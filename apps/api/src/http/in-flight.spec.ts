import type { FastifyReply } from 'fastify';
import Fastify from 'fastify';
import { until } from '#rollcall/test-support';
import { InFlight } from './in-flight.js';

describe('requests in flight', () => {
  it('that take longer than the limit are answered for their handler, once; the others are left alone', async () => {
    const inFlight = new InFlight(1_000);
    const server = Fastify();
    const forgotten = Promise.withResolvers<string>();
    server.addHook('onRequest', (_request, reply, done) => {
      inFlight.begin(reply);
      done();
    });
    server.get('/forgotten', async () => await forgotten.promise);
    await server.listen({ port: 0, host: '127.0.0.1' });
    const answer = fetch(`${server.listeningOrigin}/forgotten`);
    await until('the request is being worked on', () => inFlight.count === 1);
    expect(inFlight.answerOverdue(performance.now() + 500)).toBe(0);
    expect(inFlight.answerOverdue(performance.now() + 1_500)).toBe(1);
    expect(inFlight.answerOverdue(performance.now() + 1_500)).toBe(0);
    const response = await answer;
    expect({ status: response.status, retryAfter: response.headers.get('retry-after') }).toEqual({
      status: 503,
      retryAfter: '1',
    });
    expect(await response.json()).toMatchObject({ code: 'TIMED_OUT' });
    forgotten.resolve('too late');
    await server.close();
  });

  it('whose body is still arriving have not begun to take our time', () => {
    const inFlight = new InFlight(1_000);
    const raw = { complete: false };
    inFlight.begin({ sent: true, request: { raw } } as unknown as FastifyReply);
    expect(inFlight.answerOverdue(performance.now() + 5_000)).toBe(0);
    expect(inFlight.count).toBe(1);
  });
});
