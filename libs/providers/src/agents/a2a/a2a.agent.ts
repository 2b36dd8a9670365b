import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { SendMessageRequest, StreamResponse, Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { ProviderError } from '../../errors.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { TrackedAgent, untilAborted } from '../tracked.agent.js';
import { toA2aError } from './a2a.errors.js';
import { toSendMessage } from './a2a.mapper.js';
import { TaskReader } from './task.reader.js';

interface A2aAgentOptions {
  name: string;
  /**
   * A client in polling mode: a call without streaming returns immediately, so that its task is known and can be
   * cancelled.
   */
  client: Client;
  /** Whether the agent can stream its answer, according to its card. */
  streams: boolean;
  /** Removes the key from texts of the agent. */
  redact(text: string): string;
}

const FIRST_POLL_MS = 100;
const MAX_POLL_MS = 2_000;

/** A remote agent that uses A2A. It streams the answer if the card allows it; otherwise it polls the task. */
export class A2aAgent extends TrackedAgent {
  readonly agentType = 'remote';
  private readonly cancellations = new Set<Promise<void>>();

  constructor(private readonly options: A2aAgentOptions) {
    super(options.name);
  }

  protected async *respond(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncGenerator<AgentEvent> {
    const request = toSendMessage(message, options);
    const reader = new TaskReader(this.label, request.message?.taskId, this.options.redact);
    const call = new A2aCall(this.options.client, this.options.streams);
    // cancels immediately, because the caller may never read again
    signal.addEventListener('abort', () => this.cancel(call, reader));
    try {
      for await (const response of untilAborted(call.send(request), signal)) yield* reader.read(response);
      if (signal.aborted) return;
      yield* reader.rest();
      yield* this.follow(call, reader, signal);
    } catch (error) {
      throw toA2aError(error, { label: this.label, redact: this.options.redact });
    }
  }

  protected override async release(): Promise<void> {
    await Promise.all(this.cancellations);
  }

  /**
   * Polls the task until it has ended. If a stream was closed before the task ended, it polls only once: the agent may
   * have abandoned the task, and polling would never end.
   */
  private async *follow(call: A2aCall, reader: TaskReader, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    for (let pause = FIRST_POLL_MS; reader.taskId && !reader.ended; pause = Math.min(pause * 2, MAX_POLL_MS)) {
      await delay(pause, undefined, { signal });
      yield* reader.task(await this.readAgain(call, reader.taskId, signal));
      if (this.options.streams) return;
    }
  }

  /**
   * The agent has received the message, so a failure here means that the agent crashed or lost its task, and not that the caller made a
   * mistake. The error has no cause, because a refused connection as the cause would mean that nothing was sent.
   */
  private async readAgain(call: A2aCall, taskId: string, signal: AbortSignal): Promise<Task> {
    try {
      return await call.getTask(taskId, signal);
    } catch (error) {
      const { code, message } = toA2aError(error, { label: this.label, redact: this.options.redact });
      if (code !== 'AGENT_REQUEST_REFUSED') throw new ProviderError(code, message);
      throw new ProviderError('AGENT_CRASHED', `${this.label} no longer has its task.`);
    }
  }

  private cancel(call: A2aCall, { ended }: TaskReader): void {
    if (ended) return call.disconnect();
    const cancellation = call.cancel().finally(() => this.cancellations.delete(cancellation));
    this.cancellations.add(cancellation);
  }
}

/** The time limit for the cancellation of a remote task. */
const CANCEL_TIMEOUT_MS = 800;

/**
 * One message to a remote agent, and the task that the agent creates for it. When a caller cancels the call, it is not
 * enough to close the connection, because the agent would continue the task. Only the answer contains the id of the
 * task, so the connection stays open until the id arrives and the task is cancelled.
 */
class A2aCall {
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
