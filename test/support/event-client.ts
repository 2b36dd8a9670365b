import type { CloudEvent } from '#rollcall/platform';
import { until } from '#rollcall/test-support';
import { type Credential, type Frame, openSocket, refusal, SocketClient } from './socket-client.js';

const PATH = '/v1/events/ws';

/** A consumer of events over a WebSocket. */
export class EventClient extends SocketClient {
  readonly events: CloudEvent[] = [];

  static async connect(url: string, credential: Credential): Promise<EventClient> {
    return await new EventClient(openSocket(url, PATH, credential)).opened();
  }

  static async refusal(url: string, credential: Credential): Promise<{ status?: number; code: unknown }> {
    return await refusal(url, PATH, credential);
  }

  get seqs(): number[] {
    return this.events.map(({ sequence }) => Number(sequence));
  }

  async subscribe(data: Record<string, unknown> = {}): Promise<this> {
    const before = this.count('subscribed');
    this.send('subscribe', data);
    await until(
      'the subscription is confirmed or the socket is closed',
      () => this.count('subscribed') > before || this.end !== undefined,
    );
    return this;
  }

  protected override accept(frame: Frame): void {
    if (frame.event === 'events') this.events.push(...(frame.data as unknown as CloudEvent[]));
    else super.accept(frame);
  }
}
