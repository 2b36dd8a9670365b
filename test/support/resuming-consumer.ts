import { once } from 'node:events';
import type { CloudEvent } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { EventClient } from './event-client.js';
import type { Replicas } from './replicas.js';

/**
 * A consumer of events over a WebSocket. When its connection closes, it connects to the next replica and subscribes to the events
 * that follow the last one it received.
 */
export class ResumingConsumer {
  private readonly clients: EventClient[] = [];
  private stopped = false;
  private running?: Promise<void>;

  constructor(
    private readonly replicas: Replicas,
    private readonly key: string,
  ) {}

  /** All events in the order in which they were received. */
  get events(): CloudEvent[] {
    return this.clients.flatMap(({ events }) => events);
  }

  get connections(): number {
    return this.clients.length;
  }

  start(): this {
    this.running = this.run();
    return this;
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.clients.at(-1)?.socket.terminate();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const client = await this.connect();
      await client.subscribe({ after: this.events.at(-1)?.sequence ?? '0' });
      if (client.end === undefined && !this.stopped) await once(client.socket, 'close');
    }
  }

  private async connect(): Promise<EventClient> {
    let client: EventClient | undefined;
    await until('a replica accepts the consumer', async () => {
      client = await EventClient.connect(this.replicas.nextUrl(), { key: this.key }).catch(() => undefined);
      return client !== undefined;
    });
    this.clients.push(client as EventClient);
    return client as EventClient;
  }
}
