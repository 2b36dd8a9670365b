import { createConnection, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { DatabaseTraffic, type RoundTrip, type SentStatement } from './database-traffic.js';

/**
 * A TCP proxy in front of the Postgres of the tests. It records round trips with their statements: a round trip starts when
 * a client sends data after a response of the server. Pipelined statements share one round trip. The proxy delays responses
 * a little, so that all statements that a client sends without waiting arrive before the first response.
 */
export class CountingProxy {
  private readonly sockets = new Set<Socket>();
  private readonly server: Server;
  private readonly trips: RoundTrip[] = [];
  private connections = 0;

  private constructor(
    private readonly target: URL,
    private readonly responseDelayMs: number,
  ) {
    const path = join(target.searchParams.get('host') ?? '', '.s.PGSQL.5432');
    this.server = createServer((client) => this.join(client, createConnection(path)));
  }

  /** With a longer delay, round trips that different connections make at the same time surely overlap. */
  static async start(databaseUrl: string, responseDelayMs: number = RESPONSE_DELAY_MS): Promise<CountingProxy> {
    const proxy = new CountingProxy(new URL(databaseUrl), responseDelayMs);
    await new Promise<void>((listening) => proxy.server.listen(0, '127.0.0.1', listening));
    return proxy;
  }

  get url(): string {
    const { port } = this.server.address() as AddressInfo;
    return `postgresql://${this.target.username}@127.0.0.1:${port}${this.target.pathname}`;
  }

  /** Returns the traffic of all connections that starts while `work` runs. */
  async count(work: () => Promise<unknown>): Promise<DatabaseTraffic> {
    const before = this.trips.length;
    await work();
    return DatabaseTraffic.after(before, this.trips);
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private join(client: Socket, upstream: Socket): void {
    const connection = (this.connections += 1);
    client.setNoDelay(); // otherwise, Nagle's algorithm delays the second part of a response
    const sent = new SentMessages();
    const received = new ReceivedMessages(sent);
    let isAnswered = true;
    let trip: RoundTrip = { connection, startedAt: 0, statements: [] };
    client.on('data', (data) => {
      if (isAnswered) {
        trip = { connection, startedAt: performance.now(), statements: [] };
        this.trips.push(trip);
      }
      isAnswered = false;
      trip.statements.push(...sent.read(data));
      upstream.write(data);
    });
    upstream.on('data', (data) => {
      received.read(data);
      setTimeout(() => {
        isAnswered = true;
        trip.endedAt = performance.now();
        client.write(data);
      }, this.responseDelayMs);
    });
    this.closeTogether(client, upstream);
    this.closeTogether(upstream, client);
  }

  private closeTogether(one: Socket, other: Socket): void {
    this.sockets.add(one);
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}

const RESPONSE_DELAY_MS = 5;
const LENGTH_BYTES = 4;

interface Message {
  /** One letter; empty for the first message of a client. */
  type: string;
  body: Buffer;
}

/** Cuts the data of one direction into messages of the protocol of Postgres. */
class MessageReader {
  private rest: Buffer = Buffer.alloc(0);

  /** Only the first message of a client has no type. */
  constructor(private typeBytes: 0 | 1) {}

  read(data: Buffer): Message[] {
    this.rest = Buffer.concat([this.rest, data]);
    const messages: Message[] = [];
    while (this.rest.length >= this.typeBytes + LENGTH_BYTES) {
      const end = this.typeBytes + this.rest.readInt32BE(this.typeBytes);
      if (this.rest.length < end) break;
      const body = this.rest.subarray(this.typeBytes + LENGTH_BYTES, end);
      messages.push({ type: this.rest.toString('latin1', 0, this.typeBytes), body });
      this.rest = this.rest.subarray(end);
      this.typeBytes = 1;
    }
    return messages;
  }
}

/** Finds the statements that a client executes. The text of a prepared statement is sent once for each connection. */
class SentMessages {
  readonly unanswered: SentStatement[] = [];
  private readonly reader = new MessageReader(0);
  private readonly prepared = new Map<string, string>();

  read(data: Buffer): SentStatement[] {
    const statements = this.reader.read(data).flatMap((message) => this.statementIn(message) ?? []);
    this.unanswered.push(...statements);
    return statements;
  }

  private statementIn({ type, body }: Message): SentStatement | undefined {
    const [first = '', second = ''] = type === 'Q' || type === 'P' || type === 'B' ? textsIn(body) : [];
    if (type === 'Q') return { name: '', text: first };
    if (type === 'P') this.prepared.set(first, second);
    if (type === 'B') return { name: second, text: this.prepared.get(second) ?? '' };
    return undefined;
  }
}

/** Assigns the responses of the server to the statements of a client. Each statement has one, because a client sends a Sync after each. */
class ReceivedMessages {
  private readonly reader = new MessageReader(1);

  constructor(private readonly sent: SentMessages) {}

  read(data: Buffer): void {
    for (const { type, body } of this.reader.read(data)) {
      const isFailed = type === 'E';
      if (!isFailed && type !== 'C' && type !== 'I') continue;
      const statement = this.sent.unanswered.shift();
      if (!statement) continue;
      statement.isFailed = isFailed;
      statement.tag = type === 'C' ? textsIn(body)[0] : '';
    }
  }
}

/** The first two texts of a message, each of which ends with a zero byte. */
function textsIn(body: Buffer): string[] {
  const first = body.indexOf(0);
  const second = body.indexOf(0, first + 1);
  return [body.toString('utf8', 0, first), second === -1 ? '' : body.toString('utf8', first + 1, second)];
}
