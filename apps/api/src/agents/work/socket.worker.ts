import type { Taker, TaskDelivery, TaskInbox } from '#rollcall/agent-runtime';
import type { AgentSocket } from '../liveness/agent.sockets.js';
import { MAX_SLOTS, readCallId, readProgress, readResult, readWork } from './work.reader.js';
import { toTaskView } from './work.view.js';

const MAX_AT_ONCE = 50;

/**
 * The work of an agent over its socket. The agent offers slots, and each task that is sent uses one. It reports progress and results in
 * frames that name the task.
 */
export class SocketWorker implements Taker {
  readonly agentId: string;
  private slots = 0;
  /** The last tasks that this socket has sent, without those whose result it has received: a message on its way is not lost. */
  private readonly sent = new Set<string>();
  /** The last report about each task: its reports are processed one after the other. */
  private readonly last = new Map<string, Promise<void>>();
  private holding?: readonly string[];
  private isBusy = false;
  private isWoken = false;

  constructor(
    private readonly socket: AgentSocket,
    private readonly inbox: TaskInbox,
  ) {
    this.agentId = socket.credential.agentId;
  }

  /** Reads a frame about work. An error names the task. */
  accept(event: 'work' | 'progress' | 'result', data: unknown): void {
    if (event === 'work') return this.offer(data);
    const { callId, rest } = readCallId(data);
    const report = async (): Promise<void> =>
      event === 'progress' ? await this.progress(callId, rest) : await this.report(callId, rest);
    const done = (this.last.get(callId) ?? Promise.resolve())
      .then(report)
      .catch((error: unknown) => this.socket.sendError(error, callId))
      .finally(() => this.last.get(callId) === done && this.last.delete(callId));
    this.last.set(callId, done);
  }

  /** Called when a task may be offered. */
  wake(): void {
    this.isWoken = true;
    if (!this.isBusy && (this.slots > 0 || this.holding)) void this.work();
  }

  cancelled(callId: string): void {
    this.sent.delete(callId);
    this.socket.control({ action: 'cancel', callId });
  }

  private offer(data: unknown): void {
    const { slots, holding } = readWork(data);
    this.slots = Math.min(MAX_SLOTS, this.slots + slots);
    if (holding) this.holding = holding;
    this.wake();
  }

  private async progress(callId: string, body: unknown): Promise<void> {
    await this.inbox.progress(this.socket.credential, callId, readProgress(body));
  }

  private async report(callId: string, body: unknown): Promise<void> {
    await this.inbox.report(this.socket.credential, callId, readResult(body));
    this.sent.delete(callId);
    this.socket.reported(callId);
  }

  /** Takes and sends tasks until there is no task or no slot. */
  private async work(): Promise<void> {
    this.isBusy = true;
    let { holding } = this;
    try {
      while (this.isWoken && this.socket.open && (this.slots > 0 || this.holding)) {
        this.isWoken = false;
        ({ holding } = this);
        this.holding = undefined;
        const all = holding && { holding: [...holding, ...this.sent] };
        const most = Math.min(this.slots, MAX_AT_ONCE);
        const delivery = await this.inbox.take({ credential: this.socket.credential, most, ...all });
        for (const callId of delivery.cancelled) if (holding?.includes(callId)) this.cancelled(callId);
        if (delivery.tasks.length > 0) this.isWoken = true; // there may be more
        await this.send(delivery);
      }
    } catch (error) {
      this.holding ??= holding; // so that the next attempt delivers what was lost
      this.socket.sendError(error);
    } finally {
      this.isBusy = false;
    }
  }

  /** The results of some tasks arrive over HTTP, so the oldest are forgotten. */
  private noteSent(callId: string): void {
    this.sent.add(callId);
    const [oldest] = this.sent;
    if (this.sent.size > MAX_SLOTS && oldest !== undefined) this.sent.delete(oldest);
  }

  /** Tasks that were not sent are offered again. A task whose frame is lost is delivered again when the agent states what it holds. */
  private async send({ tasks }: TaskDelivery): Promise<void> {
    for (const [index, task] of tasks.entries()) {
      if (!this.socket.open) {
        await this.inbox.undelivered(this.socket.credential, { tasks: tasks.slice(index), cancelled: [] });
        return;
      }
      this.slots = Math.max(0, this.slots - 1);
      this.noteSent(task.callId);
      await this.socket.task(toTaskView(task));
    }
  }
}
