import { formatCursor, type LogPosition, type RegistryEvent, toCloudEventText } from '#rollcall/platform';
import type { FrameSocket } from '../streams/frame.socket.js';
import type { StreamConnection } from '../streams/stream.connections.js';
import { CLOSE_CODES, type StreamEnd, TRY_AGAIN_LATER } from '../streams/stream.end.js';
import type { EventStream, StreamSink } from './event.stream.js';

/** Another stream on the same socket, such as the events of one run. */
export interface SocketStream {
  /** Buffered data was sent. */
  onDrain(): void;
  close(): void;
}

/** One WebSocket, with one subscription to the event log, and further streams by name. Frames are `{"event": …, "data": …}`. */
export class SocketConnection implements StreamSink, StreamConnection {
  private stream?: EventStream;
  private readonly others = new Map<string, SocketStream>();
  private queue: Promise<unknown> = Promise.resolve();

  constructor(private readonly socket: FrameSocket) {}

  get buffered(): number {
    return this.socket.buffered;
  }

  get open(): boolean {
    return this.socket.open;
  }

  get cursor(): string | undefined {
    return this.stream?.cursor;
  }

  /** Processes the requests of this connection one after another. */
  async enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.queue.then(work);
    this.queue = done.catch(() => undefined); // the caller of this method gets the error
    await done;
  }

  /** Replaces the previous subscription. */
  follow(open: () => EventStream): void {
    this.stream?.close();
    this.stream = open();
  }

  /** The names of the further streams. */
  get names(): readonly string[] {
    return [...this.others.keys()];
  }

  /** Replaces the stream of the same name. */
  attach(name: string, stream: SocketStream): void {
    this.detach(name);
    this.others.set(name, stream);
  }

  detach(name: string): void {
    this.others.get(name)?.close();
    this.others.delete(name);
  }

  acknowledge(seq: number): void {
    this.stream?.acknowledge(seq);
  }

  send(events: readonly RegistryEvent[], epoch: string): void {
    this.write(toFrame(events, epoch));
  }

  sendPosition(position: LogPosition): void {
    this.sendFrame('position', { sequence: String(position.seq), cursor: formatCursor(position) });
  }

  sendFrame(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  /**
   * A client that did not respond to the last ping is disconnected. Clients often cannot see pings, so the position is
   * sent too, even if it has not changed: a consumer that receives nothing for several intervals knows that its connection is dead.
   */
  beat(): void {
    if (this.socket.ping() && this.stream) this.sendPosition(this.stream.position);
  }

  end(reason: StreamEnd): void {
    this.onClosed();
    this.sendFrame('end', reason);
    const { code, after } = reason;
    this.socket.close(CLOSE_CODES[code], { code, after });
  }

  /** Sends an error of the server, and closes the connection. */
  fail(problem: Record<string, unknown>): void {
    this.onClosed();
    this.sendFrame('error', problem);
    this.socket.close(TRY_AGAIN_LATER, { code: problem['code'] });
  }

  onClosed(): void {
    this.stream?.close();
    for (const name of this.names) this.detach(name);
  }

  private write(text: string | Buffer): void {
    this.socket.write(text, () => {
      this.stream?.onDrain();
      for (const other of this.others.values()) other.onDrain();
    });
  }
}

interface CachedFrame {
  events: readonly RegistryEvent[];
  epoch: string;
  frame: Buffer;
}

/** The key is the first event of the frame. */
const framed = new WeakMap<RegistryEvent, CachedFrame>();

/** A WebSocket frame of events, with the cursor after the last one. Consumers that get the same events share one frame. */
function toFrame(events: readonly RegistryEvent[], epoch: string): Buffer {
  const [first] = events;
  const known = first && framed.get(first);
  if (known && known.epoch === epoch && hasSame(known.events, events)) return known.frame;
  const cursor = formatCursor({ seq: events.at(-1)?.seq ?? 0, epoch });
  const list = events.map(toCloudEventText).join(',');
  const frame = Buffer.from(`{"event":"events","data":[${list}],"cursor":"${cursor}"}`);
  if (first) framed.set(first, { events, epoch, frame });
  return frame;
}

function hasSame(one: readonly RegistryEvent[], two: readonly RegistryEvent[]): boolean {
  return one.length === two.length && one.every((event, index) => event === two[index]);
}
