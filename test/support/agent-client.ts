import { once } from 'node:events';
import { WebSocket } from 'ws';
import { until } from '#rollcall/platform/testing';

export interface Frame {
  event: string;
  data: Record<string, unknown>;
}

export interface Life {
  agentId: string;
  generation: number;
  leaseToken: string;
}

export const pathOf = ({ agentId, generation }: Pick<Life, 'agentId' | 'generation'>): string =>
  `/v1/agents/ws?agentId=${encodeURIComponent(agentId)}&generation=${generation}`;

/** An agent on its own socket. */
export class AgentClient {
  readonly frames: Frame[] = [];
  end?: { code: number; reason: string };

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (text: Buffer) => this.frames.push(JSON.parse(text.toString()) as Frame));
    socket.on('close', (code, reason) => (this.end = { code, reason: reason.toString() }));
  }

  static async connect(url: string, life: Life): Promise<AgentClient> {
    const headers = { authorization: `Bearer ${life.leaseToken}` };
    const client = new AgentClient(new WebSocket(url.replace('http', 'ws') + pathOf(life), { headers }));
    await once(client.socket, 'open');
    return client;
  }

  say(frame: unknown): void {
    this.socket.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  of(event: string): Record<string, unknown>[] {
    return this.frames.filter((frame) => frame.event === event).map(({ data }) => data);
  }

  /** The data of the n-th frame of this kind, when it has come. */
  async heard(event: string, count = 1): Promise<Record<string, unknown>> {
    await until(`${count} ${event}`, () => this.of(event).length >= count);
    return this.of(event)[count - 1] ?? {};
  }

  async closed(): Promise<{ code: number; reason: string }> {
    await until('it is closed', () => this.end !== undefined);
    return this.end ?? { code: 0, reason: '' };
  }
}
