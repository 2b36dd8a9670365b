import { setTimeout as delay } from 'node:timers/promises';
import type { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { TrackedAgent } from '../tracked.agent.js';
import { toA2aError } from './a2a.errors.js';
import { toSendMessage } from './a2a.mapper.js';
import { TaskReader } from './task.reader.js';

export interface A2aAgentOptions {
  name: string;
  /** One that polls: a call that does not stream returns at once, so that its task is known and can be cancelled. */
  client: Client;
  /** Whether its card says that it can answer piece by piece. */
  streams: boolean;
  /** Takes the key out of what the other side said. */
  hide(text: string): string;
}

/** A remote agent is told that its task is cancelled, but not waited for any longer than this. */
const CANCEL_MS = 800;
const FIRST_LOOK_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** A remote agent that speaks A2A, streaming where its card says that it can; otherwise its task is looked at again and again. */
export class A2aAgent extends TrackedAgent {
  readonly agentType = 'remote';
  private readonly farewells = new Set<Promise<void>>();

  constructor(private readonly options: A2aAgentOptions) {
    super(options.name);
  }

  protected async *converse(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const request = toSendMessage(message, options);
    const reader = new TaskReader(this.label, Boolean(request.message?.taskId), this.options.hide);
    // Said at once, not when the caller next looks at its events: it may never look again.
    const cancel = (): void => this.sayCancelled(reader);
    signal.addEventListener('abort', cancel);
    try {
      for await (const response of this.send(request, signal)) yield* reader.read(response);
      yield* reader.rest();
      yield* this.follow(reader, signal);
    } catch (error) {
      throw toA2aError(error, { label: this.label, hide: this.options.hide });
    }
  }

  protected override async release(): Promise<void> {
    await Promise.all(this.farewells);
  }

  private async *send(request: SendMessageRequest, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    const { client, streams } = this.options;
    if (streams) return yield* client.sendMessageStream(request, { signal });
    const value = await client.sendMessage(request, { signal });
    yield { payload: 'messageId' in value ? { $case: 'message', value } : { $case: 'task', value } };
  }

  /**
   * Looks at the task until it has ended. After a stream that was closed in good order, but too early, one look must do:
   * a task that nobody works on any more would be looked at for ever.
   */
  private async *follow(reader: TaskReader, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    for (let pause = FIRST_LOOK_MS; reader.taskId && !reader.ended; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      await delay(pause, undefined, { signal });
      yield* reader.task(await this.look(reader.taskId, signal));
      if (this.options.streams) return;
    }
  }

  private async look(id: string, signal: AbortSignal): Promise<Task> {
    return await this.options.client.getTask({ tenant: '', id, historyLength: 0 }, { signal });
  }

  private sayCancelled({ taskId, ended }: TaskReader): void {
    if (!taskId || ended) return;
    const farewell = this.cancel(taskId).finally(() => this.farewells.delete(farewell));
    this.farewells.add(farewell);
  }

  private async cancel(id: string): Promise<void> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), CANCEL_MS);
    try {
      await this.options.client.cancelTask({ tenant: '', id, metadata: undefined }, { signal: late.signal });
    } catch {
      return; // gone, or ended by itself meanwhile: there is nothing left to cancel
    } finally {
      clearTimeout(timer);
    }
  }
}
