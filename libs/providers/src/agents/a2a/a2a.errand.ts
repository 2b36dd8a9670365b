import { once } from 'node:events';
import type { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';

/** The other side is told that its task is cancelled, but not waited for any longer than this. */
const TAKE_BACK_MS = 800;

/**
 * One message on its way to a remote agent, and the task that becomes of it. Whoever does not want it any more takes it
 * back: a request that is merely dropped goes on at the other side, and only its answer tells which task to cancel. So the
 * line is held until that is known.
 */
export class Errand {
  taskId?: string;
  private readonly line = new AbortController();
  private readonly answered = Promise.withResolvers<void>();

  /** `client` polls: a call that does not stream returns at once, with its task. */
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

  async look(id: string, signal: AbortSignal): Promise<Task> {
    return await this.client.getTask({ tenant: '', id, historyLength: 0 }, { signal });
  }

  hangUp(): void {
    this.line.abort();
  }

  async cancelLater(): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), TAKE_BACK_MS);
    try {
      await Promise.race([this.answered.promise, once(late.signal, 'abort')]);
      if (this.taskId) await this.cancel(this.taskId, late.signal);
    } finally {
      clearTimeout(timer);
      this.hangUp();
    }
  }

  private async *answers(request: SendMessageRequest): AsyncGenerator<StreamResponse> {
    const { signal } = this.line;
    if (this.streams) return yield* this.client.sendMessageStream(request, { signal });
    const value = await this.client.sendMessage(request, { signal });
    yield { payload: 'messageId' in value ? { $case: 'message', value } : { $case: 'task', value } };
  }

  private async cancel(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.client.cancelTask({ tenant: '', id, metadata: undefined }, { signal });
    } catch {
      return; // gone, or ended by itself meanwhile: there is nothing left to cancel
    }
  }
}

function taskIdOf({ payload }: StreamResponse): string | undefined {
  if (payload?.$case === 'task') return payload.value.id;
  return payload?.$case === 'message' || payload === undefined ? undefined : payload.value.taskId || undefined;
}
