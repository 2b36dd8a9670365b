import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { isFinished, type Status, type TaskEvent } from './task.events.js';

/** The receiver checks this token, so that only Rollcall can send notifications. */
export const PUSH_TOKEN = 'the-token-of-the-storm';

/** The endpoint of the push notifications of all tasks. It accepts each notification, and keeps their order for each task. */
export class PushReceiver {
  /** The notifications that do not belong to a task, or have a wrong token. */
  readonly faults: string[] = [];
  total = 0;
  private readonly statuses = new Map<string, Status[]>();

  private constructor(private readonly server: Server) {}

  static async start(): Promise<PushReceiver> {
    const server = createServer((request, response) => {
      void receiver.accept(request).then(
        () => response.writeHead(204).end(),
        () => response.destroy(), // the replica was killed while it sent the notification
      );
    });
    const receiver = new PushReceiver(server);
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/push`;
  }

  /** The tasks whose last notification has arrived. */
  get finished(): number {
    return [...this.statuses.values()].filter((received) => received.some(isFinished)).length;
  }

  /** What arrived for a task, in the order of arrival. */
  receivedFor(taskId: string): readonly Status[] {
    return this.statuses.get(taskId) ?? [];
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => void this.server.close(done));
  }

  private async accept(request: IncomingMessage): Promise<void> {
    const { task, statusUpdate } = (await json(request)) as TaskEvent;
    const [taskId, status] = task ? [task.id, task.status] : [statusUpdate?.taskId, statusUpdate?.status];
    if (request.headers['x-a2a-notification-token'] !== PUSH_TOKEN)
      this.faults.push('a notification without its token');
    if (taskId === undefined || !status) return void this.faults.push('a notification without a status');
    this.total += 1;
    const known = this.statuses.get(taskId);
    if (known) known.push(status);
    else this.statuses.set(taskId, [status]);
  }
}
