import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { until } from '#rollcall/test-support';

export interface Frame {
  event: string;
  data: Record<string, unknown>;
}

export interface Credential {
  key?: string;
  ticket?: string;
}

export interface Closed {
  code: number;
  /** The JSON in the close frame. */
  reason: Record<string, unknown>;
}

/** A client of a WebSocket whose messages are JSON frames, `{"event": …, "data": …}`. */
export class SocketClient {
  readonly frames: Frame[] = [];
  /** Undefined while the connection is open. */
  end?: Closed;

  protected constructor(readonly socket: WebSocket) {
    socket.on('message', (text: Buffer) => this.accept(JSON.parse(text.toString()) as Frame));
    socket.on('close', (code, reason) => (this.end = { code, reason: parse(reason.toString()) }));
    socket.on('error', () => undefined); // `opened` rejects when the upgrade is refused
  }

  send(event: string, data?: unknown): void {
    this.socket.send(JSON.stringify({ event, data }));
  }

  of(event: string): Record<string, unknown>[] {
    return this.frames.filter((frame) => frame.event === event).map(({ data }) => data);
  }

  count(event: string): number {
    return this.of(event).length;
  }

  /** Waits for the n-th frame of this event and returns its data. */
  async received(event: string, count = 1): Promise<Record<string, unknown>> {
    await until(`${count} ${event} frames are received`, () => this.count(event) >= count);
    return this.of(event)[count - 1] ?? {};
  }

  async closed(): Promise<Closed> {
    await until('the socket is closed', () => this.end !== undefined);
    return this.end ?? { code: 0, reason: {} };
  }

  protected async opened(): Promise<this> {
    await once(this.socket, 'open');
    return this;
  }

  protected accept(frame: Frame): void {
    this.frames.push(frame);
  }
}

export function openSocket(url: string, path: string, { key, ticket }: Credential): WebSocket {
  const address = `${url.replace('http', 'ws')}${path}${ticket === undefined ? '' : `?ticket=${ticket}`}`;
  return new WebSocket(address, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
}

/** Waits until the upgrade is refused, and returns the status and the code of the problem. */
export async function refusal(
  url: string,
  path: string,
  credential: Credential = {},
): Promise<{ status?: number; code: unknown }> {
  const socket = openSocket(url, path, credential);
  socket.on('error', () => undefined); // ws also reports the refusal as an error
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, code: parse(text)['code'] };
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}
