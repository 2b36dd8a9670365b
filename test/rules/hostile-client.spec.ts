import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { HostileClient } from '../../bench/support/hostile.client.js';
import { until } from '#rollcall/test-support';

const PAUSE_MS = 50;
const REQUEST = { finding: 'A1', bytes: Buffer.from('GET / HTTP/1.1\r\n\r\n') };

let server: Server;
afterEach(() => server.close());

async function send(socket: Socket, parts: string[]): Promise<void> {
  for (const part of parts) {
    socket.write(part);
    await delay(PAUSE_MS);
  }
}

/** Answers each request with these parts, and returns the first findings of a client and the number of its connections. */
async function answersTo(parts: string[], wanted: number): Promise<{ findings: string[]; connections: number }> {
  const findings: string[] = [];
  let connections = 0;
  server = createServer((socket: Socket) => {
    connections += 1;
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', () => void send(socket, parts));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const onAnswer = (finding: string, status: string): void => void findings.push(`${finding} ${status}`);
  const client = new HostileClient({ host: '127.0.0.1', port }, [REQUEST], 0, onAnswer);
  client.ask();
  await until('the client has its responses', () => findings.length >= wanted).finally(() => client.stop());
  return { findings: findings.slice(0, wanted), connections };
}

describe('the client of the hostile storm', () => {
  it.each([
    ['at once', ['HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno']],
    ['with the head in two chunks', ['HTTP/1.1 401 Unauthorized\r\nContent-', 'Length: 2\r\n\r\nno']],
    ['with the end of the head in two chunks', ['HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n', '\r\nno']],
    ['with the body in two chunks', ['HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nn', 'o']],
  ])('keeps its connection for a response with a length that arrives %s', async (_name, parts) => {
    expect(await answersTo(parts, 3)).toEqual({ findings: ['A1 401', 'A1 401', 'A1 401'], connections: 1 });
  });

  it('ends its connection after a response without a length', async () => {
    const { findings, connections } = await answersTo(['HTTP/1.1 200 OK\r\n', '\r\nchunk'], 3);
    expect(findings).toEqual(['A1 200', 'A1 200', 'A1 200']);
    expect(connections).toBeGreaterThanOrEqual(3);
  });
});
