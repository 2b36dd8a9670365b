import { once } from 'node:events';
import type { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';

/** The time limit for the cancellation of a remote task. */
const CANCEL_TIMEOUT_MS = 800;

/**
 * One message to a remote agent, and the task that the agent creates for it. When a caller cancels the call, it is not
 * enough to close the connection, because the agent would continue the task. Only the answer contains the id of the
 * task, so the connection stays open until the id arrives and the task is cancelled.
 */
export class A2aCall {
  taskId?: string;
  private readonly connection = new AbortController();
  private readonly answered = Promise.withResolvers<void>();

  /** `client` is in polling mode: a call without streaming returns immediately with its task. */
  constructor(
    private readonly client: Client,
    private readonly streams: boolean,
  ) {}

  async *send(request: SendMessageRequest): AsyncGenerator<StreamResponse> {
    try {
      for await (const response of this.answers(request)) {
        this.taskId ??= taskIdOf(response);
        if (this.taskId) this.answered.resolve();
        yield response;
      }
    } finally {
      this.answered.resolve();
    }
  }

  async getTask(id: string, signal: AbortSignal): Promise<Task> {
    return await this.client.getTask({ tenant: '', id, historyLength: 0 }, { signal });
  }

  disconnect(): void {
    this.connection.abort();
  }

  async cancel(): Promise<void> {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), CANCEL_TIMEOUT_MS);
    try {
      await Promise.race([this.answered.promise, once(timeout.signal, 'abort')]);
      if (this.taskId) await this.cancelTask(this.taskId, timeout.signal);
    } finally {
      clearTimeout(timer);
      this.disconnect();
    }
  }

  private async *answers(request: SendMessageRequest): AsyncGenerator<StreamResponse> {
    const { signal } = this.connection;
    if (this.streams) return yield* this.client.sendMessageStream(request, { signal });
    const value = await this.client.sendMessage(request, { signal });
    yield { payload: 'messageId' in value ? { $case: 'message', value } : { $case: 'task', value } };
  }

  private async cancelTask(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.client.cancelTask({ tenant: '', id, metadata: undefined }, { signal });
    } catch {
      return; // the task has ended or no longer exists, so there is nothing to cancel
    }
  }
}

function taskIdOf({ payload }: StreamResponse): string | undefined {
  if (payload?.$case === 'task') return payload.value.id;
  return payload?.$case === 'message' || payload === undefined ? undefined : payload.value.taskId || undefined;
}
