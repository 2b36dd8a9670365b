import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';

interface Frame {
  event: string;
  data: { sequence: string; id: string }[];
}

const RETRY_MS = 20;

/**
 * A consumer over a WebSocket that is killed repeatedly while it receives events. Every second kill happens before the consumer has
 * processed the events. It keeps its cursor, as a consumer with a stored cursor does, and resumes from it.
 */
export class ReconnectingConsumer {
  readonly ids: string[] = [];
  /** Sequence numbers that did not follow the previous one. */
  readonly wrong: number[] = [];
  kills = 0;
  private cursor = 0;
  private nextKill = performance.now();
  private stopped = false;

  constructor(
    private readonly url: string,
    private readonly headers: Record<string, string>,
    private readonly killEveryMs: number,
    private readonly maxKills: number,
  ) {}

  get seq(): number {
    return this.cursor;
  }

  async run(): Promise<void> {
    while (!this.stopped) {
      await this.connectOnce();
      await delay(RETRY_MS);
    }
  }

  stop(): void {
    this.stopped = true;
  }

  private async connectOnce(): Promise<void> {
    const over = Promise.withResolvers<void>();
    const socket = new WebSocket(this.url, { headers: this.headers });
    socket.on('open', () => {
      socket.send(JSON.stringify({ event: 'subscribe', data: { after: String(this.cursor) } }));
    });
    socket.on('message', (text: Buffer) => this.onFrame(JSON.parse(text.toString()) as Frame, socket));
    socket.on('error', () => socket.terminate()); // the server rejects connections while it cannot reach its database; the consumer tries again
    socket.on('close', over.resolve);
    const watch = setInterval(() => this.stopped && socket.terminate(), 50);
    await over.promise;
    clearInterval(watch);
  }

  private onFrame({ event, data }: Frame, socket: WebSocket): void {
    if (event === 'error') return socket.terminate();
    if (event !== 'events' || socket.readyState !== socket.OPEN) return;
    const killed = this.kills < this.maxKills && performance.now() >= this.nextKill;
    if (!killed || this.kills % 2 === 0) this.process(data);
    if (!killed) return;
    this.kills += 1;
    this.nextKill = performance.now() + this.killEveryMs;
    socket.terminate();
  }

  private process(events: Frame['data']): void {
    for (const { sequence, id } of events) {
      if (Number(sequence) !== this.cursor + 1) this.wrong.push(Number(sequence));
      this.cursor = Number(sequence);
      this.ids.push(id);
    }
  }
}
