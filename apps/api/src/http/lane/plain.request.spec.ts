import { setTimeout as delay } from 'node:timers/promises';
import * as fc from 'fast-check';
import { LaneServer, request } from './testing/lane.server.js';

let server: LaneServer;
let alone: LaneServer;
beforeAll(async () => {
  server = await LaneServer.start();
  alone = await LaneServer.start({ withLane: false });
});
afterAll(async () => await Promise.all([server.stop(), alone.stop()]));

describe('what is odd', () => {
  const LINES = [
    'X-Any: thing',
    'x-any:thing',
    'X-Any : thing',
    'X Any: thing',
    ' folded',
    ': nameless',
    'nonsense',
    'X-Any: \u0001',
    'X-Any: caf\u00e9',
    'X-Any: a\rb',
    'X-Any: a\nContent-Length: 3',
    'Content-Length: 3',
    'Content-Length: 0',
    'Content-Length: +7',
    'Transfer-Encoding: chunked',
    'transfer-encoding: identity',
    'Expect: 200-maybe',
    'Connection: keep-alive',
    'Connection: Keep-Alive',
    'Host: there',
    '__proto__: x',
    'constructor: x',
  ];
  const aRequest = fc.record({
    method: fc.constantFrom('POST', 'POST', 'POST', 'POST', 'PUT', 'post'),
    path: fc.constantFrom('/echo/1', '/echo/a.b', '/other', '/echo/%31', '/echo/1?x', '/', 'echo', '/echo/ 1'),
    body: fc.constantFrom('{"n":1}', '{"n":"ü"}', '[1]', '{}'),
    lines: fc.array(fc.constantFrom(...LINES), { maxLength: 2 }),
    cuts: fc.array(fc.nat(400), { maxLength: 2 }),
  });

  /** One request after the other, each in its pieces: what Node does with those after a broken one is a matter of luck. */
  async function answersOf(to: LaneServer, requests: readonly string[][]): Promise<string> {
    const client = await to.connect();
    for (const pieces of requests) {
      for (const piece of pieces) {
        client.socket.write(Buffer.from(piece, 'latin1'));
        await delay(2);
      }
      await client.quiet();
      if (client.received.includes(' 400 ')) break;
    }
    client.socket.destroy();
    return client.answers.join(' ');
  }

  function cut(text: string, at: readonly number[]): string[] {
    const places = [0, ...at.map((place) => place % text.length).toSorted((one, other) => one - other), text.length];
    return places.slice(1).map((place, index) => text.slice(places[index], place));
  }

  async function bothWays(requests: readonly string[][]): Promise<{ withLane: string; byNode: string }> {
    const [withLane, byNode] = await Promise.all([answersOf(server, requests), answersOf(alone, requests)]);
    return { withLane, byNode };
  }

  it.each(LINES)('as %j gets the answer that Node alone would give', async (line) => {
    const { withLane, byNode } = await bothWays([[request('/echo/1', '{"n":1}', [line])], [request('/echo/2')]]);
    expect(withLane).toBe(byNode);
  });

  it('gets the answer that Node alone would give, however it is cut', async () => {
    const property = fc.asyncProperty(fc.array(aRequest, { minLength: 1, maxLength: 2 }), async (asked) => {
      const requests = asked.map(({ path, body, lines, method, cuts }) =>
        cut(request(path, Buffer.from(body).toString('latin1'), lines, method), cuts),
      );
      const { withLane, byNode } = await bothWays(requests);
      expect(withLane).toBe(byNode);
    });
    await fc.assert(property, { numRuns: 120 });
  }, 60_000);
});
