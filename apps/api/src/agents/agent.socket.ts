import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { AgentRecord, BeatResult, LeaseClaim } from '#rollcall/registry';
import { toProblem } from '../http/problem.js';
import type { KeptConnection } from '../events/stream.keeper.js';

/** What an agent is asked to do. */
export type Control =
  { action: 'drain' | 'quarantine' | 'resume'; by: string } | { action: 'register' | 'stop'; reason: string };

/** Why we end an agent's socket: 1013 means "try again later", and in the 4000s, which are for applications, by HTTP's numbers. */
const CLOSE_CODES: Record<string, number> = {
  SHUTTING_DOWN: 1001,
  TRY_AGAIN: 1013,
  DATABASE_UNAVAILABLE: 1013,
  CREDENTIAL_ENDED: 4401,
  LEASE_TOKEN_REFUSED: 4403,
  REGISTER_AGAIN: 4404,
  SLOW_CONSUMER: 4408,
  STALE_GENERATION: 4409,
};
const GOODBYE_MS = 2_000;
/** An agent that beats and never reads its answers. */
const MOST_UNREAD_BYTES = 256 * 1_024;

/** One agent's own socket. Frames are `{"event": …, "data": …}`, as on the events' socket. It may close at any time: only the lease decides who lives. */
export class AgentSocket implements KeptConnection {
  readonly cursor = undefined;
  private answered = true;

  constructor(
    private readonly socket: WebSocket,
    readonly claim: LeaseClaim,
  ) {
    socket.on('pong', () => (this.answered = true));
  }

  get open(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  welcome(
    { agentId, generation, desiredState }: AgentRecord,
    heartbeat: { intervalMs: number; leaseMs: number },
  ): void {
    this.tell('welcome', { agentId, generation, desiredState, heartbeat });
  }

  /** Written in one go with the others of the batch, and made by hand: there are tens of thousands a second. */
  answer(result: BeatResult, nextIntervalMs: number): void {
    if (!result.ok) return this.refuse(result.error);
    const beatAt = new Date(result.beatAt).toISOString();
    this.write(`{"event":"beaten","data":{"beatAt":"${beatAt}","nextIntervalMs":${nextIntervalMs}}}`);
  }

  control(control: Control): void {
    this.tell('control', control);
  }

  /** What HTTP answers as problem+json. If it means that this life is over, so is the socket; other faults pass. */
  refuse(error: unknown): void {
    const { status, body } = toProblem(error, randomUUID());
    this.tell('error', body);
    const code = String(body['code']);
    if (status < 500 && code in CLOSE_CODES) this.close(code);
  }

  /** Whoever did not answer the last ping is gone; its lease is not. */
  beat(): void {
    if (!this.answered) return this.socket.terminate();
    this.answered = false;
    this.socket.ping();
  }

  end({ code, detail }: { code: string; detail: string }): void {
    this.tell('end', { code, detail });
    this.close(code);
  }

  private close(code: string): void {
    this.socket.close(CLOSE_CODES[code], JSON.stringify({ code }));
    setTimeout(() => this.socket.terminate(), GOODBYE_MS).unref();
  }

  private tell(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  private write(text: string): void {
    if (!this.open) return;
    if (this.socket.bufferedAmount > MOST_UNREAD_BYTES) return this.close('SLOW_CONSUMER');
    this.socket.send(text);
  }
}
