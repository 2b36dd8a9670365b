import { randomUUID } from 'node:crypto';
import type { WebSocket } from 'ws';
import type { AgentRecord, BeatResult, LeaseClaim } from '#rollcall/registry';
import { toProblem } from '../http/problem.js';
import type { StreamConnection } from '../events/stream.connections.js';

/** A request to an agent. */
export type Control =
  { action: 'drain' | 'quarantine' | 'resume'; by: string } | { action: 'register' | 'stop'; reason: string };

/** Close codes: 1013 means "try again later"; codes from 4000 are for applications and end with the matching HTTP status. */
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
const CLOSE_TIMEOUT_MS = 2_000;
/** An agent that sends beats without reading the answers is disconnected. */
const MAX_UNREAD_BYTES = 256 * 1_024;

/**
 * The socket of one agent. Frames are `{"event": …, "data": …}`, as on the socket for events. The socket may close at any time:
 * only the lease decides whether the agent is listed.
 */
export class AgentSocket implements StreamConnection {
  readonly cursor = undefined;
  private hasPonged = true;

  constructor(
    private readonly socket: WebSocket,
    readonly claim: LeaseClaim,
  ) {
    socket.on('pong', () => (this.hasPonged = true));
  }

  get open(): boolean {
    return this.socket.readyState === this.socket.OPEN;
  }

  welcome(
    { agentId, generation, desiredState }: AgentRecord,
    heartbeat: { intervalMs: number; leaseMs: number },
  ): void {
    this.send('welcome', { agentId, generation, desiredState, heartbeat });
  }

  /** The frame is built as text because there are tens of thousands each second. */
  answer(result: BeatResult, nextIntervalMs: number): void {
    if (!result.ok) return this.sendError(result.error);
    const beatAt = new Date(result.beatAt).toISOString();
    this.write(`{"event":"beaten","data":{"beatAt":"${beatAt}","nextIntervalMs":${nextIntervalMs}}}`);
  }

  control(control: Control): void {
    this.send('control', control);
  }

  /** Sends the members of problem+json. An error that ends this registration also closes the socket. */
  sendError(error: unknown): void {
    const { status, body } = toProblem(error, randomUUID());
    this.send('error', body);
    const code = String(body['code']);
    if (status < 500 && code in CLOSE_CODES) this.close(code);
  }

  /** A client that did not answer the last ping is disconnected. Its lease does not change. */
  beat(): void {
    if (!this.hasPonged) return this.socket.terminate();
    this.hasPonged = false;
    this.socket.ping();
  }

  end({ code, detail }: { code: string; detail: string }): void {
    this.send('end', { code, detail });
    this.close(code);
  }

  private close(code: string): void {
    this.socket.close(CLOSE_CODES[code], JSON.stringify({ code }));
    setTimeout(() => this.socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  private send(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  private write(text: string): void {
    if (!this.open) return;
    if (this.socket.bufferedAmount > MAX_UNREAD_BYTES) return this.close('SLOW_CONSUMER');
    this.socket.send(text);
  }
}
