import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { pino } from 'pino';
import { until } from '#rollcall/registry/testing';
import type { AuthGuard } from '../../auth/auth.guard.js';
import type { Principal } from '../../auth/principal.js';
import { Lifecycle } from '../../health/lifecycle.js';
import { HttpMetrics } from '../../telemetry/http.metrics.js';
import { Gateway } from '../gateway.js';
import { RequestLog } from '../request.log.js';
import { ExpressLane } from './express.lane.js';
import { LaneConnections } from './lane.connections.js';
import type { LaneRoute } from './lanes.js';

const KEEP_ALIVE_MS = 5_000;
const LARGE = 'x'.repeat(256 * 1_024);
const permission = 'agents:self';

/** A server with the lane before it, or without. Both ways answer the same: which address, and which body. */
class TestServer {
  readonly connections = new LaneConnections();
  /** How many requests were read by Node. */
  readByNode = 0;
  /** How many requests of the lane were begun. */
  begun = 0;
  /** Answers to `/slow/:id` wait for it. */
  readonly slow = Promise.withResolvers<void>();
  private readonly server: Server;

  private constructor() {
    this.server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
      this.readByNode += 1;
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => response.end(`<${request.url} ${Buffer.concat(chunks).toString()}>`));
    });
    this.server.on('clientError', (_error, socket: Socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  }

  static async start({ withLane = true } = {}): Promise<TestServer> {
    const made = new TestServer();
    if (withLane) made.openLane();
    made.server.listen(0, '127.0.0.1');
    await once(made.server, 'listening');
    return made;
  }

  async connect(): Promise<TestClient> {
    const socket = connect((this.server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return new TestClient(socket);
  }

  async stop(): Promise<void> {
    this.connections.close();
    this.server.closeAllConnections();
    if (this.server.listening) await new Promise((resolve) => this.server.close(resolve));
  }

  private openLane(): void {
    const guard = { enter: () => ({ id: 'someone' }) as Principal } as unknown as AuthGuard;
    const log = new RequestLog(pino({ level: 'silent' }), 'errors');
    const lifecycle = new Lifecycle();
    const parts = { guard, lifecycle, metrics: new HttpMetrics(() => 0), log, gateway: new Gateway([]) };
    new ExpressLane(parts, this.connections, this.routes()).open(this.server);
  }

  private routes(): LaneRoute[] {
    const echo = (path: string, id: string, body: unknown): string => `<${path}${id} ${JSON.stringify(body)}>`;
    return [
      { url: '/echo/:id', permission, handle: (id, body, _who, answer) => answer.ok(echo('/echo/', id, body)) },
      {
        url: '/slow/:id',
        permission,
        handle: async (id, body, _who, answer) => {
          await this.slow.promise;
          answer.okAscii(echo('/slow/', id, body));
        },
      },
      {
        url: '/large',
        permission,
        handle: (_id, _body, _who, answer) => {
          this.begun += 1;
          answer.okAscii(LARGE);
        },
      },
    ];
  }
}

class TestClient {
  received = '';
  isClosed = false;

  constructor(readonly socket: Socket) {
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('data', (text: string) => (this.received += text));
    socket.on('close', () => (this.isClosed = true)).on('error', () => undefined);
  }

  /** The answers so far: what the server makes of each request. */
  get answers(): string[] {
    return this.received.match(/<[^>]*>|HTTP\/1.1 [^2]\d\d/g) ?? [];
  }

  /** Settles when nothing more comes. */
  async quiet(): Promise<void> {
    for (let before = -1; before !== this.received.length; await delay(15)) before = this.received.length;
  }

  async answered(count: number): Promise<string[]> {
    await until(`${count} answers`, () => this.answers.length >= count);
    return this.answers;
  }
}

let server: TestServer;
beforeEach(async () => (server = await TestServer.start()));
afterEach(async () => await server.stop());

/** Of a text whose characters are bytes. */
function request(path: string, body = '{"n":1}', lines: string[] = [], method = 'POST'): string {
  const head = [`${method} ${path} HTTP/1.1`, 'Host: here', 'Content-Type: application/json', ...lines];
  return `${head.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

describe('a connection on the lane', () => {
  it('answers one request after the other without Node', async () => {
    const client = await server.connect();
    for (let index = 1; index <= 5; index++) {
      client.socket.write(request(`/echo/${index}`));
      await client.answered(index);
    }
    expect(client.answers).toEqual([1, 2, 3, 4, 5].map((index) => `</echo/${index} {"n":1}>`));
    expect(client.received).toContain('Connection: keep-alive\r\nKeep-Alive: timeout=5\r\n');
    expect(server.readByNode).toBe(0);
  });

  it('is given to Node with the first request that is not for the lane, and goes on there', async () => {
    const client = await server.connect();
    for (const [index, path] of ['/echo/1', '/other', '/echo/2', '/other'].entries()) {
      client.socket.write(request(path));
      await client.answered(index + 1);
    }
    expect(client.answers).toEqual(['/echo/1', '/other', '/echo/2', '/other'].map((path) => `<${path} {"n":1}>`));
    expect(server.readByNode).toBe(2);
  });

  it('waits for a body that comes after its head', async () => {
    const client = await server.connect();
    const [head = '', body = ''] = request('/echo/1').split('\r\n\r\n');
    client.socket.write(`${head}\r\n\r\n`);
    await delay(50);
    client.socket.write(body);
    expect(await client.answered(1)).toEqual(['</echo/1 {"n":1}>']);
    expect(server.readByNode).toBe(0);
  });

  it('answers requests that come together in their order', async () => {
    const client = await server.connect();
    client.socket.write(request('/echo/1') + request('/echo/2') + request('/other') + request('/echo/3'));
    expect(await client.answered(4)).toEqual(
      ['/echo/1', '/echo/2', '/other', '/echo/3'].map((path) => `<${path} {"n":1}>`),
    );
  });

  it.each(['/echo/2', '/other'])(
    'answers a request to %s that comes before the answer to the last in its turn',
    async (next) => {
      const client = await server.connect();
      client.socket.write(request('/slow/1'));
      await delay(30);
      client.socket.write(request(next));
      await delay(30);
      expect(client.answers).toEqual([]);
      server.slow.resolve();
      expect(await client.answered(2)).toEqual(['</slow/1 {"n":1}>', `<${next} {"n":1}>`]);
    },
  );

  it('answers a caller that has said its last word, and closes', async () => {
    const client = await server.connect();
    client.socket.end(request('/slow/1'));
    await delay(30);
    server.slow.resolve();
    await until('it is closed', () => client.isClosed);
    expect(client.answers).toEqual(['</slow/1 {"n":1}>']);
    expect(client.received).toContain('Connection: close');
  });

  it('closes for a caller that goes without a word, or with half a request', async () => {
    for (const words of ['', request('/echo/1').slice(0, -1)]) {
      const client = await server.connect();
      client.socket.end(words);
      await until('it is closed', () => client.isClosed);
    }
  });

  it('does not work for a caller that does not read its answers, until it reads them', async () => {
    const client = await server.connect();
    client.socket.pause();
    const asked = 100;
    const one = request('/large');
    for (let index = 0; index < asked; index++) {
      client.socket.write(one);
      await delay(2);
    }
    const begun = server.begun;
    expect(begun).toBeLessThan(asked / 2);
    await delay(50);
    expect(server.begun).toBe(begun);
    client.socket.resume();
    const length = (): number => client.received.match(/x+/g)?.reduce((sum, text) => sum + text.length, 0) ?? 0;
    await until('all are answered', () => length() >= asked * LARGE.length);
  });
});

describe('connections on the lane', () => {
  it('that send half a request, or nothing, come under the time limits of Node', async () => {
    const clients = [await server.connect(), await server.connect()];
    const half = request('/echo/1');
    clients[0]?.socket.write(half.slice(0, -3));
    await delay(30);
    server.connections.look(KEEP_ALIVE_MS, performance.now() + 2_100);
    clients[0]?.socket.write(half.slice(-3));
    clients[1]?.socket.write(request('/other'));
    for (const client of clients) await client.answered(1);
    expect(server.readByNode).toBe(1); // the other one is a request of the lane, which takes it from Node
    clients[0]?.socket.write(request('/other'));
    await clients[0]?.answered(2);
  });

  it('that are not used are closed after the time to keep them alive', async () => {
    const client = await server.connect();
    client.socket.write(request('/echo/1'));
    await client.answered(1);
    server.connections.look(KEEP_ALIVE_MS, performance.now() + KEEP_ALIVE_MS);
    await delay(30);
    expect(client.isClosed).toBe(false);
    server.connections.look(KEEP_ALIVE_MS, performance.now() + KEEP_ALIVE_MS + 1_100);
    await until('it is closed', () => client.isClosed);
  });

  it('end when the server closes, those that are busy with their answer', async () => {
    const [idle, busy] = [await server.connect(), await server.connect()];
    idle.socket.write(request('/echo/1'));
    busy.socket.write(request('/slow/1'));
    await idle.answered(1);
    server.connections.close();
    await until('the idle one is closed', () => idle.isClosed);
    expect(busy.isClosed).toBe(false);
    server.slow.resolve();
    await until('the busy one is closed', () => busy.isClosed);
    expect(busy.answers).toEqual(['</slow/1 {"n":1}>']);
  });
});

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
  async function answersOf(to: TestServer, requests: readonly string[][]): Promise<string> {
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

  let alone: TestServer;
  beforeAll(async () => (alone = await TestServer.start({ withLane: false })));
  afterAll(async () => await alone.stop());

  async function expectTheSame(requests: readonly string[][]): Promise<void> {
    const [withLane, byNode] = await Promise.all([answersOf(server, requests), answersOf(alone, requests)]);
    expect(withLane).toBe(byNode);
  }

  it.each(LINES)('as %j gets the answer that Node alone would give', async (line) => {
    await expectTheSame([[request('/echo/1', '{"n":1}', [line])], [request('/echo/2')]]);
  });

  it('gets the answer that Node alone would give, however it is cut', async () => {
    const property = fc.asyncProperty(fc.array(aRequest, { minLength: 1, maxLength: 2 }), async (asked) => {
      const requests = asked.map(({ path, body, lines, method, cuts }) =>
        cut(request(path, Buffer.from(body).toString('latin1'), lines, method), cuts),
      );
      await expectTheSame(requests);
    });
    await fc.assert(property, { numRuns: 120 });
  }, 60_000);
});
