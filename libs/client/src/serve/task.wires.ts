import type { HeartbeatView, Problem, TakenTaskView } from '../generated/schema.js';
import { RollcallError } from '../rollcall.error.js';
import type { AgentLease, Lease } from './agent.lease.js';
import type { Changes } from './changes.js';
import type { TaskPiece, TaskResult } from './task.js';

/** What a heartbeat reports. */
export interface Beat {
  readonly inFlight: number;
  readonly load: number;
}

/** The tasks of the agent. */
export interface TaskReceiver {
  /** How many tasks the agent can execute in addition. */
  readonly free: number;
  /** The tasks that this registration has received and not finished. */
  holding(lease: Lease): string[];
  accept(lease: Lease, tasks: readonly TakenTaskView[]): void;
  cancel(callIds: readonly string[], reason?: string): void;
}

/** How heartbeats, tasks and reports are exchanged with Rollcall. */
export interface TaskWire {
  beat(lease: Lease, beat: Beat): Promise<HeartbeatView>;
  progress(lease: Lease, callId: string, piece: TaskPiece): Promise<void>;
  result(lease: Lease, callId: string, result: TaskResult): Promise<void>;
  /** Receives tasks until the signal is aborted or the connection is lost. */
  receive(lease: Lease, desk: TaskReceiver, signal: AbortSignal): Promise<void>;
}

const TAKE_WAIT_MS = 20_000;
const MAX_TAKEN = 100;

/** Takes the tasks that are offered, and waits up to `waitMs` for the first one. Returns how many there were. */
export async function takeTasks(
  lease: Lease,
  desk: TaskReceiver,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<number> {
  const { agentId, agents, generation, timeoutMs } = lease;
  const max = Math.min(MAX_TAKEN, Math.max(1, desk.free));
  const input = { generation, max, waitMs, holding: desk.holding(lease) };
  const { tasks, cancelled } = await agents.takeTasks(agentId, input, { signal, timeoutMs: waitMs + timeoutMs });
  desk.cancel(cancelled);
  desk.accept(lease, tasks);
  return tasks.length;
}

/** Each exchange is a request. */
export class HttpWire implements TaskWire {
  constructor(
    private readonly leases: AgentLease,
    private readonly changes: Changes,
  ) {}

  async beat({ agentId, agents, generation, timeoutMs }: Lease, beat: Beat): Promise<HeartbeatView> {
    return await agents.heartbeat(agentId, { generation, ...beat }, { timeoutMs, signal: this.leases.life.signal });
  }

  async receive(lease: Lease, desk: TaskReceiver, signal: AbortSignal): Promise<void> {
    await this.changes.until(() => desk.free > 0, signal);
    await takeTasks(lease, desk, { waitMs: TAKE_WAIT_MS, signal });
  }

  async progress({ agentId, agents, generation, timeoutMs }: Lease, callId: string, piece: TaskPiece): Promise<void> {
    await agents.reportProgress(agentId, callId, { generation, ...piece }, { timeoutMs });
  }

  async result({ agentId, agents, generation }: Lease, callId: string, result: TaskResult): Promise<void> {
    await agents.reportResult(agentId, callId, { generation, ...result }, { signal: this.leases.life.signal });
  }
}

type Settle<T> = { resolve(value: T): void; reject(error: unknown): void };
/** The members of the received frames that are used here. */
type FrameData = Partial<Omit<Problem, 'reason'>> &
  Partial<HeartbeatView> & { callId?: string; action?: string } & Partial<TakenTaskView>;

/** A frame may have 64 KiB. */
const MAX_FRAME_BYTES = 60_000;

/** Uses the socket of the agent, and requests while the socket is closed and for large results. */
export class SocketWire implements TaskWire {
  private socket: WebSocket | undefined;
  /** Ends the connection. */
  private drop: () => void = () => {};
  private beating: Settle<HeartbeatView> | undefined;
  private readonly reporting = new Map<string, Settle<void>>();

  constructor(
    private readonly url: string,
    private readonly http: HttpWire,
    private readonly changes: Changes,
    private readonly onState: (state: HeartbeatView['desiredState']) => void,
  ) {
    if (typeof WebSocket === 'undefined') throw new TypeError('The transport websocket needs Node 22 or newer');
  }

  async beat(lease: Lease, beat: Beat): Promise<HeartbeatView> {
    if (!this.socket) return await this.http.beat(lease, beat);
    return await this.ask(lease, 'beat', beat, (settle) => (this.beating = settle));
  }

  async progress(lease: Lease, callId: string, piece: TaskPiece): Promise<void> {
    if (this.socket) this.send('progress', { callId, ...piece });
    else await this.http.progress(lease, callId, piece);
  }

  async result(lease: Lease, callId: string, result: TaskResult): Promise<void> {
    const isLarge = new TextEncoder().encode(JSON.stringify(result)).length > MAX_FRAME_BYTES;
    if (!this.socket || isLarge) return await this.http.result(lease, callId, result);
    const data = { callId, ...result };
    await this.ask<void>(lease, 'result', data, (settle) => void this.reporting.set(callId, settle));
  }

  async receive(lease: Lease, desk: TaskReceiver, signal: AbortSignal): Promise<void> {
    const { agentId, generation, leaseToken, timeoutMs } = lease;
    const query = new URLSearchParams({ agentId, generation: String(generation) });
    const init = { headers: { authorization: `Bearer ${leaseToken}` } };
    // the type of browsers, which cannot send headers
    const Socket = WebSocket as unknown as new (url: string, init: object) => WebSocket;
    const socket = new Socket(`${this.url.replace(/^http/, 'ws')}/v1/agents/ws?${query.toString()}`, init);
    let offered = 0;
    const offer = (more: object = {}): void => {
      const slots = desk.free - offered;
      if (slots <= 0 && !('holding' in more)) return;
      offered += Math.max(0, slots);
      this.send('work', { slots: Math.max(0, slots), ...more });
    };
    const over = new AbortController();
    const once = { signal: over.signal, once: true };
    try {
      await new Promise<void>((resolve, reject) => {
        const lost = (): void => reject(new RollcallError('SERVER_UNREACHABLE', 'The socket was closed.'));
        const timer = setTimeout(lost, timeoutMs);
        this.drop = lost;
        over.signal.addEventListener('abort', () => clearTimeout(timer));
        signal.addEventListener('abort', () => resolve(), once);
        socket.addEventListener('close', lost, once);
        socket.addEventListener('error', lost, once);
        const onFrame = ({ data: text }: { data: unknown }): void => {
          const { event, data } = JSON.parse(String(text)) as { event: string; data: FrameData };
          const { callId = '', action } = data;
          if (event === 'welcome') {
            clearTimeout(timer);
            this.socket = socket;
            this.onState(data.desiredState);
            offer({ holding: desk.holding(lease) });
            over.signal.addEventListener(
              'abort',
              this.changes.subscribe(() => offer()),
            );
          } else if (event === 'task') {
            offered -= 1;
            desk.accept(lease, [data as TakenTaskView]);
          } else if (event === 'beaten') this.beating?.resolve(data as HeartbeatView);
          else if (event === 'reported') this.reporting.get(callId)?.resolve();
          else if (event === 'control' && action === 'cancel') desk.cancel([callId]);
          else if (event === 'control' && action === 'drain') this.onState('draining');
          else if (event === 'control' && action === 'resume') this.onState('active');
          else if (event === 'error') this.onError(data, desk, reject);
        };
        socket.addEventListener('message', onFrame, { signal: over.signal });
      });
    } finally {
      over.abort();
      if (this.socket === socket) this.socket = undefined;
      socket.close();
      const lost = new RollcallError('SERVER_UNREACHABLE', 'The socket was closed.');
      for (const settle of [this.beating, ...this.reporting.values()]) settle?.reject(lost);
    }
  }

  private onError(data: FrameData, desk: TaskReceiver, fail: (error: unknown) => void): void {
    const { code = '', detail = '', status, callId } = data;
    const error = new RollcallError(code, detail, { status, problem: data });
    if (callId !== undefined) {
      const settle = this.reporting.get(callId);
      if (settle) settle.reject(error);
      else if (code.startsWith('TASK_')) desk.cancel([callId], error.message);
      return;
    }
    this.beating?.reject(error);
    fail(error);
  }

  /** Sends a frame, and waits for its answer. A socket without an answer is closed, because its connection may be lost. */
  private async ask<T>(
    { timeoutMs }: Lease,
    event: string,
    data: object,
    keep: (settle: Settle<T>) => void,
  ): Promise<T> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        keep({ resolve, reject });
        timer = setTimeout(() => {
          reject(new RollcallError('CALL_TIMED_OUT', `The socket has no answer after ${timeoutMs} ms.`));
          this.drop();
        }, timeoutMs);
        this.send(event, data);
      });
    } finally {
      clearTimeout(timer);
      if (event === 'beat') this.beating = undefined;
      else this.reporting.delete((data as { callId: string }).callId);
    }
  }

  private send(event: string, data: object): void {
    this.socket?.send(JSON.stringify({ event, data }));
  }
}
