import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import { until } from '#rollcall/platform/testing';
import type { CloudEvent } from '#rollcall/platform';

interface Frame {
  event: string;
  data: Record<string, unknown>;
}

export interface Entry {
  key?: string;
  ticket?: string;
}

const PATH = '/v1/events/ws';

/** A consumer of events over a WebSocket. */
export class EventClient {
  readonly events: CloudEvent[] = [];
  readonly frames: Frame[] = [];
  /** What it was closed with. */
  end?: { code: number; reason: Record<string, unknown> };

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (text: Buffer) => this.hear(JSON.parse(text.toString()) as Frame));
    socket.on('close', (code, reason) => (this.end = { code, reason: parse(reason.toString()) }));
    socket.on('error', () => undefined); // a refused upgrade shows as a rejected connect
  }

  static async connect(url: string, { key, ticket }: Entry): Promise<EventClient> {
    const socket = open(url, PATH, { key, ticket });
    const client = new EventClient(socket);
    await once(socket, 'open');
    return client;
  }

  /** The status and the problem an upgrade is refused with. */
  static async refusal(url: string, entry: Entry): Promise<{ status?: number; code: unknown }> {
    return await refusal(url, PATH, entry);
  }

  get seqs(): number[] {
    return this.events.map(({ sequence }) => Number(sequence));
  }

  say(event: string, data: unknown): void {
    this.socket.send(JSON.stringify({ event, data }));
  }

  async subscribe(data: Record<string, unknown> = {}): Promise<this> {
    const before = this.count('subscribed');
    this.say('subscribe', data);
    await until('subscribed', () => this.count('subscribed') > before || this.end !== undefined);
    return this;
  }

  async closed(): Promise<{ code: number; reason: Record<string, unknown> }> {
    await until('it is closed', () => this.end !== undefined);
    return this.end ?? { code: 0, reason: {} };
  }

  count(event: string): number {
    return this.frames.filter((frame) => frame.event === event).length;
  }

  private hear(frame: Frame): void {
    if (frame.event === 'events') this.events.push(...(frame.data as unknown as CloudEvent[]));
    else this.frames.push(frame);
  }
}

export async function refusal(
  url: string,
  path: string,
  entry: Entry = {},
): Promise<{ status?: number; code: unknown }> {
  const socket = open(url, path, entry);
  socket.on('error', () => undefined); // it is what we ask for
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, code: parse(text)['code'] };
}

function open(url: string, path: string, { key, ticket }: Entry): WebSocket {
  const address = `${url.replace('http', 'ws')}${path}${ticket === undefined ? '' : `?ticket=${ticket}`}`;
  return new WebSocket(address, { headers: key === undefined ? {} : { authorization: `Bearer ${key}` } });
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return { text };
  }
}
