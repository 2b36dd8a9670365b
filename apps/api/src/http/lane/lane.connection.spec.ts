import { setTimeout as delay } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { until } from '#rollcall/registry/testing';
import { KEEP_ALIVE_MS, LaneServer, LIMIT_MS, LARGE, request } from './testing/lane.server.js';

let server: LaneServer;
beforeEach(async () => (server = await LaneServer.start()));
afterEach(async () => await server.stop());

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
    await server.hasRead(head.length + 4);
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
      await until('it is busy', () => server.begun === 1);
      client.socket.write(request(next));
      await server.hasRead(request('/slow/1').length + request(next).length);
      expect(client.answers).toEqual([]);
      server.slow.resolve();
      expect(await client.answered(2)).toEqual(['</slow/1 {"n":1}>', `<${next} {"n":1}>`]);
    },
  );

  it('logs each request by its own address, also when the next one is answered at once', async () => {
    const client = await server.connect();
    client.socket.write(request('/slow/1'));
    await server.hasRead(request('/slow/1').length);
    client.socket.write(request('/echo/2'));
    await server.hasRead(2 * request('/slow/1').length);
    server.slow.resolve();
    await client.answered(2);
    expect(server.log.map((line) => (JSON.parse(line) as { path: string }).path)).toEqual(['/slow/1', '/echo/2']);
  });

  it.each(['/echo/1', '/other'])('goes on after a request that nobody answers in time, after %s', async (first) => {
    const client = await server.connect();
    client.socket.write(request(first));
    await client.answered(1);
    client.socket.write(request('/slow/2'));
    await until('it is busy', () => server.begun === 1);
    server.lane?.answerOverdue(performance.now() + LIMIT_MS - 10_000);
    expect(client.answers).toHaveLength(1);
    server.lane?.answerOverdue(performance.now() + LIMIT_MS);
    await client.answered(2);
    server.slow.resolve();
    client.socket.write(request('/echo/3'));
    expect(await client.answered(3)).toEqual([`<${first} {"n":1}>`, 'HTTP/1.1 503', '</echo/3 {"n":1}>']);
    expect(client.received).toContain('"code":"TIMED_OUT"');
  });

  it('answers a caller that has said its last word, and closes', async () => {
    const client = await server.connect();
    client.socket.end(request('/slow/1'));
    await until('it is busy', () => server.begun === 1);
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
      expect(client.answers).toEqual([]);
    }
  });

  it('does not work for a caller that does not read its answers, until it reads them', async () => {
    const client = await server.connect();
    const asked = 100;
    await client.askWithoutReading(asked);
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
    await server.hasRead(half.length - 3);
    server.connections.look(KEEP_ALIVE_MS, performance.now() + 2_100);
    clients[0]?.socket.write(half.slice(-3));
    clients[1]?.socket.write(request('/other'));
    for (const client of clients) await client.answered(1);
    expect(server.readByNode).toBe(1); // the other one is a request of the lane, which takes it from Node
    clients[0]?.socket.write(request('/other'));
    await clients[0]?.answered(2);
  });

  it('that send a request byte by byte have no more time for it', async () => {
    const givenUp = jest.spyOn(server.connections, 'remove');
    const client = await server.connect();
    const slow = request('/echo/1');
    client.socket.write(slow.slice(0, -3));
    await server.hasRead(slow.length - 3);
    const first = performance.now();
    for (const missing of [2, 1]) {
      await delay(50);
      client.socket.write(slow.slice(-missing - 1, -missing));
      await server.hasRead(slow.length - missing);
    }
    server.connections.look(KEEP_ALIVE_MS, first + 2_000);
    expect(givenUp).toHaveBeenCalledTimes(1);
    client.socket.write(slow.slice(-1));
    expect(await client.answered(1)).toEqual(['</echo/1 {"n":1}>']);
  });

  it('that are not used are closed after the time to keep them alive', async () => {
    const client = await server.connect();
    client.socket.write(request('/echo/1'));
    await client.answered(1);
    server.connections.look(KEEP_ALIVE_MS, performance.now() + KEEP_ALIVE_MS);
    client.socket.write(request('/echo/2'));
    expect(await client.answered(2)).toHaveLength(2);
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

  it.each(['/echo/1', '/other'])(
    'end with an answer that is given while the replica leaves, after %s',
    async (first) => {
      const client = await server.connect();
      client.socket.write(request(first));
      await client.answered(1);
      client.socket.write(request('/slow/1'));
      await until('it is busy', () => server.begun === 1);
      server.lifecycle.phase = 'closing';
      server.slow.resolve();
      await client.answered(2);
      expect(client.received.match(/^Connection: .*/gm)).toEqual(['Connection: keep-alive', 'Connection: close']);
      await server.hasConnections(0);
    },
  );

  it('end with their answer when the server closes, whatever their caller does then or has sent since', async () => {
    const slow = request('/slow/1');
    const [stubborn, eager] = [await server.connect({ staysOpen: true }), await server.connect()];
    for (const { socket } of [stubborn, eager]) socket.write(slow);
    await server.hasRead(2 * slow.length);
    eager.socket.write(slow);
    await server.hasRead(3 * slow.length);
    server.connections.close();
    server.slow.resolve();
    for (const client of [stubborn, eager]) expect(await client.answered(1)).toEqual(['</slow/1 {"n":1}>']);
    await server.hasConnections(0);
  });

  it('end when the server has closed and their caller reads at last', async () => {
    const client = await server.connect();
    await client.askWithoutReading(100);
    server.connections.close();
    client.socket.resume();
    await server.hasConnections(0);
    expect(server.begun).toBeLessThan(100);
  });

  it('end at the next look when they are accepted while the server closes', async () => {
    server.connections.close();
    const client = await server.connect();
    await server.hasConnections(1);
    expect(client.isClosed).toBe(false);
    server.connections.look(KEEP_ALIVE_MS);
    await server.hasConnections(0);
  });
});
