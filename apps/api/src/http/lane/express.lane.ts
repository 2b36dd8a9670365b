import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { timedOut } from '../in-flight.js';
import { LaneConnection } from './lane.connection.js';
import type { LaneConnections } from './lane.connections.js';
import { type LaneCall, LaneRequest } from './lane.request.js';
import { type LaneParts, type LaneRoute, Lanes } from './lanes.js';
import { isPlain } from './plain.request.js';

const LOOK_EVERY_MS = 1_000;

/**
 * A short cut for the few routes that are called tens of thousands of times a second: no router, hooks and contexts, which
 * cost more than the work itself, and as long as a connection has nothing but such requests, no streams either. It takes
 * only requests that are plain in every respect and leaves all others to the ordinary route, which does the same for every
 * request; what is answered is the same by each way, and tests hold them together. Authentication, permission, limits,
 * headers, metrics and problems are those of the ordinary way.
 */
export class ExpressLane {
  private readonly lanes: Lanes;

  constructor(
    private readonly parts: LaneParts,
    private readonly connections: LaneConnections,
    routes: readonly LaneRoute[],
  ) {
    this.lanes = new Lanes(parts.metrics, routes);
  }

  /** Puts the lane before the server's own listeners. */
  open(server: Server): void {
    const { lanes, connections } = this;
    const readByNode = takeReaders(server);
    const parts = { ...this.parts, lanes, connections, readByNode, keepAliveMs: server.keepAliveTimeout };
    server.on('connection', (socket: Socket) => new LaneConnection(socket, parts));
    const ordinary = takeHandler(server);
    server.on('request', (request, response) => {
      if (!this.take(request, response)) ordinary(request, response);
    });
    const timer = setInterval(() => {
      connections.look(parts.keepAliveMs);
      this.answerOverdue(performance.now());
    }, LOOK_EVERY_MS).unref();
    server.on('close', () => clearInterval(timer));
  }

  /** So that nobody waits for ever, and no connection with them, should a handler not answer. */
  answerOverdue(now: number): void {
    const { limitMs, underWay } = this.parts;
    for (const request of underWay) {
      if (now - request.startedAt < limitMs) return;
      request.fail(timedOut(limitMs));
    }
  }

  /** A request that Node has read, on a connection that had others before. */
  private take(request: IncomingMessage, response: ServerResponse): boolean {
    const { method, url = '', headers } = request;
    if (method !== 'POST' || this.parts.lifecycle.phase === 'closing' || !isPlain(headers)) return false;
    const to = this.lanes.find(url);
    if (!to) return false;
    readWhole(request, (bytes) => new LaneRequest(to, this.parts, this.callOf(request, response)).work(bytes));
    return true;
  }

  private callOf({ url = '', headers, socket }: IncomingMessage, response: ServerResponse): LaneCall {
    return {
      url,
      headers,
      socket,
      send: (status, fields, body) => {
        if (this.parts.lifecycle.phase === 'closing') response.shouldKeepAlive = false;
        response.writeHead(status, [...fields]).end(body, 'latin1');
      },
    };
  }
}

/** Takes all that listens for connections: it hears of one when Node gets it. */
function takeReaders(server: Server): (socket: Socket) => void {
  const readers = server.listeners('connection') as ((socket: Socket) => void)[];
  server.removeAllListeners('connection');
  return (socket) => {
    for (const reader of readers) reader.call(server, socket);
  };
}

/** Takes the listener that the server was made with. */
function takeHandler(server: Server): RequestListener {
  const [handler] = server.listeners('request') as RequestListener[];
  if (!handler) throw new Error('the server has no listener for requests to go before');
  server.removeListener('request', handler);
  return handler.bind(server);
}

function readWhole(request: IncomingMessage, work: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  let missing = Number(request.headers['content-length']);
  request.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    missing -= chunk.length;
    if (missing === 0) work(chunks.length === 1 ? chunk : Buffer.concat(chunks));
  });
}
