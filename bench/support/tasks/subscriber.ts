import { setTimeout as delay } from 'node:timers/promises';
import type { StormReplicas } from './replicas.js';
import { eventsOf, isFinished, type SentTask, type Status, type TaskEvent, textOf } from './task.events.js';

const RETRY_MS = 50;

/** What one connection received. */
export interface Connection {
  /** Absent if the connection broke before the first event. */
  snapshot?: Status;
  readonly updates: Status[];
}

export interface Protocol {
  readonly path: string;
  readonly headers: Record<string, string>;
}

/** Follows a task until it is finished. When a stream ends earlier, it subscribes again at the next replica. */
export class Subscriber {
  readonly connections: Connection[] = [];
  /** Faults that do not depend on what the other subscribers received. */
  readonly faults: string[] = [];
  answer?: string;
  private last?: Status;

  constructor(
    private readonly replicas: StormReplicas,
    private readonly agent: Protocol,
    private readonly taskId: string,
    private readonly isRpc: boolean,
  ) {}

  async follow(onStatus: (status: Status) => void): Promise<void> {
    while (!this.last || !isFinished(this.last)) {
      const response = await this.subscribe().catch(() => undefined);
      if (response?.headers.get('content-type')?.startsWith('text/event-stream')) await this.read(response, onStatus);
      else if (response) await this.readRejection(response);
      else await delay(RETRY_MS);
    }
  }

  private async subscribe(): Promise<Response> {
    const { path, headers } = this.agent;
    const url = (await this.replicas.nextUrl()) + path;
    if (!this.isRpc) return await fetch(`${url}/tasks/${this.taskId}:subscribe`, { headers });
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SubscribeToTask', params: { id: this.taskId } });
    return await fetch(url, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body });
  }

  private async read(response: Response, onStatus: (status: Status) => void): Promise<void> {
    const connection: Connection = { updates: [] };
    this.connections.push(connection);
    for await (const event of eventsOf(response)) {
      const status = this.accept(connection, event);
      if (status) onStatus((this.last = status));
    }
  }

  private accept(connection: Connection, { task, statusUpdate, artifactUpdate, error }: TaskEvent): Status | undefined {
    if (error) return undefined; // the replica stops
    if ((task !== undefined) !== (connection.snapshot === undefined))
      this.faults.push('a stream does not begin with its only snapshot');
    if (this.last && isFinished(this.last)) this.faults.push('an event after the end');
    const id = task?.id ?? statusUpdate?.taskId ?? artifactUpdate?.taskId;
    if (id !== this.taskId) this.faults.push(`an event of the task ${id}`);
    if (artifactUpdate?.lastChunk) this.answer = textOf(artifactUpdate.artifact);
    if (task) return this.snapshot(connection, task);
    if (statusUpdate) connection.updates.push(statusUpdate.status);
    return statusUpdate?.status;
  }

  private snapshot(connection: Connection, { status, artifacts = [] }: SentTask): Status {
    connection.snapshot = status;
    if (isFinished(status)) this.answer = artifacts.map(textOf).join('');
    return status;
  }

  /** A finished task has no stream, so the task itself is read. */
  private async readRejection(rejected: Response): Promise<void> {
    const text = await rejected.text().catch(() => '');
    if (/UNSUPPORTED_OPERATION/.test(text)) {
      const { path, headers } = this.agent;
      const url = `${await this.replicas.nextUrl()}${path}/tasks/${this.taskId}`;
      const task = await fetch(url, { headers }).then(
        async (response) => (response.ok ? ((await response.json()) as SentTask) : undefined),
        () => undefined,
      );
      const connection: Connection = { updates: [] };
      if (task) this.last = this.snapshot(connection, task);
      if (task) this.connections.push(connection);
    } else if (rejected.status !== 503) this.faults.push(`${rejected.status}: ${text.slice(0, 300)}`);
    await delay(RETRY_MS);
  }
}
