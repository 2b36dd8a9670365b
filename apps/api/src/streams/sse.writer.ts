import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { SendSpace } from './send.space.js';
import { type StreamConnection, StreamConnections } from './stream.connections.js';
import type { StreamEnd } from './stream.end.js';
import { callerOf } from '../auth/principal.js';

const SSE_HEADERS = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };
const KEEP_ALIVE = ': heartbeat\n\n';

export interface SseLimits {
  /** The maximum number of bytes in the send buffer. */
  readonly buffer: number;
  /** How long a client may take to empty a full buffer before it is disconnected. */
  readonly slowAfterMs: number;
}

/** How a protocol reacts to its connection. */
export interface SseProtocol {
  /** The cursor from which the client can resume. Absent if clients of this protocol resume in another way. */
  readonly cursor?: string | undefined;
  /** Writes why the server ends the stream, and ends it. Without this method, the stream ends without a reason. */
  onEnd?(reason: StreamEnd): void;
  /** Called after each keep-alive comment. */
  onBeat?(): void;
  /** Called when buffered data was sent. */
  onDrain?(): void;
  onClosed?(): void;
}

/**
 * Writes one response with server-sent events, for all protocols. The protocols format the events. `send` writes at the pace of the
 * client: it waits while the send buffer is full, and disconnects a client whose buffer stays full for too long. `write` does not wait;
 * it is for sources that regulate themselves by `buffered` and `onDrain`. After the end of the connection, nothing is written.
 */
export class SseWriter implements StreamConnection {
  private readonly space = new SendSpace();
  private protocol: SseProtocol = {};
  private whenSpace?: () => void;

  constructor(
    private readonly response: ServerResponse,
    private readonly limits: SseLimits,
  ) {
    response.socket?.setTimeout(0);
    response.on('drain', () => this.onDrain());
    response.once('close', () => this.onClosed());
  }

  get open(): boolean {
    return !this.response.writableEnded && !this.response.destroyed;
  }

  get cursor(): string | undefined {
    return this.protocol.cursor;
  }

  /** The number of bytes in the send buffer. */
  get buffered(): number {
    return this.response.writableLength;
  }

  get isFull(): boolean {
    return this.buffered > this.limits.buffer;
  }

  attach(protocol: SseProtocol): void {
    this.protocol = protocol;
  }

  write(events: string | Uint8Array): void {
    if (this.open) this.response.write(events);
  }

  /** Returns false if the connection is closed, or was closed because the client does not read. */
  async send(events: string | Uint8Array): Promise<boolean> {
    if (!this.open) return false;
    this.response.write(events);
    if (!this.isFull) return true;
    if (!(await this.space.wait(this.limits.slowAfterMs))) this.disconnect();
    return this.open;
  }

  /** Calls the function once, when the send buffer has space again. */
  onceSpace(act: () => void): void {
    this.whenSpace = act;
  }

  beat(): void {
    this.write(KEEP_ALIVE);
    this.protocol.onBeat?.();
  }

  /** A slow client does not get the reason, because it does not read. */
  end(reason: StreamEnd): void {
    if (reason.code === 'SLOW_CONSUMER') this.disconnect();
    else if (this.protocol.onEnd) this.protocol.onEnd(reason);
    else this.finish();
  }

  /** Ends the response, after these last events. */
  finish(lastEvents = ''): void {
    if (this.open) this.response.end(lastEvents);
  }

  /** Closes the connection without an end, so that the client notices that the stream is incomplete. */
  disconnect(): void {
    this.response.destroy();
  }

  private onDrain(): void {
    this.space.notify();
    const act = this.whenSpace;
    this.whenSpace = undefined;
    act?.();
    this.protocol.onDrain?.();
  }

  private onClosed(): void {
    this.space.notify();
    this.protocol.onClosed?.();
  }
}

/** Begins responses with server-sent events. Each has the configured limits, and ends with its credential or with the process. */
@Injectable()
export class SseStreams {
  constructor(
    private readonly connections: StreamConnections,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Returns undefined if no events can follow: for HEAD, and for a closed connection. */
  open(reply: FastifyReply): SseWriter | undefined {
    void reply.headers(SSE_HEADERS);
    if (reply.request.method === 'HEAD' || reply.raw.closed) {
      void reply.send();
      return undefined;
    }
    reply.hijack();
    const response = reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    const { buffer, slowAfter: slowAfterMs } = this.config.events;
    const writer = new SseWriter(response, { buffer, slowAfterMs });
    response.once('close', this.connections.add(callerOf(reply.request), writer));
    return writer;
  }
}
