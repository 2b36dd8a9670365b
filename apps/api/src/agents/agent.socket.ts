import { randomUUID } from 'node:crypto';
import type { AgentRecord, BeatResult, ContractNotice, LeaseCredential, NoticeView } from '#rollcall/registry';
import { toProblem } from '../http/problem.js';
import type { FrameSocket } from '../events/frame.socket.js';
import { heartbeatJson } from './liveness.view.js';
import { CLOSE_CODES as STREAM_CLOSE_CODES, TRY_AGAIN_LATER } from '../events/stream.end.js';
import type { StreamConnection } from '../events/stream.connections.js';

/** An action that the server requests from the agent. */
export type Control =
  | { action: 'drain' | 'quarantine' | 'resume'; by: string }
  | { action: 'register' | 'stop'; reason: string }
  | ({ action: ContractNotice['kind'] } & NoticeView);

/**
 * Close codes: 1013 means "try again later"; codes from 4000 are for applications, and their last three digits are the matching
 * HTTP status.
 */
const CLOSE_CODES: Record<string, number> = {
  ...STREAM_CLOSE_CODES,
  TRY_AGAIN: TRY_AGAIN_LATER,
  LEASE_TOKEN_REFUSED: 4403,
  REGISTER_AGAIN: 4404,
  STALE_GENERATION: 4409,
};
/** An agent that sends heartbeats without reading the results is disconnected. */
const MAX_UNREAD_BYTES = 256 * 1_024;

/**
 * The socket of one agent. Frames are `{"event": …, "data": …}`, as on the socket for events. The socket may close at any time:
 * only the lease decides whether the agent is listed.
 */
export class AgentSocket implements StreamConnection {
  readonly cursor = undefined;

  constructor(
    private readonly socket: FrameSocket,
    readonly claim: LeaseCredential,
  ) {}

  get open(): boolean {
    return this.socket.open;
  }

  welcome(
    { agentId, generation, desiredState }: AgentRecord,
    heartbeat: { intervalMs: number; leaseMs: number },
  ): void {
    this.send('welcome', { agentId, generation, desiredState, heartbeat });
  }

  sendResult(result: BeatResult, nextIntervalMs: number): void {
    if (!result.ok) return this.sendError(result.error);
    const beatAt = new Date(result.beatAt).toISOString();
    this.write(`{"event":"beaten","data":${heartbeatJson({ beatAt, nextIntervalMs })}}`);
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

  /** Sends a ping. Disconnects an agent that did not respond to the previous ping; its lease stays. */
  beat(): void {
    this.socket.ping();
  }

  end({ code, detail }: { code: string; detail: string }): void {
    this.send('end', { code, detail });
    this.close(code);
  }

  private close(code: string): void {
    this.socket.close(CLOSE_CODES[code], { code });
  }

  private send(event: string, data: unknown): void {
    this.write(JSON.stringify({ event, data }));
  }

  private write(text: string): void {
    if (this.open && this.socket.buffered > MAX_UNREAD_BYTES) return this.close('SLOW_CONSUMER');
    this.socket.write(text);
  }
}
