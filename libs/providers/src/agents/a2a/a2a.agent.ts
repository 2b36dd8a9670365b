import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { HTTP_EXTENSION_HEADER, type SendMessageRequest, type StreamResponse, type Task } from '@a2a-js/sdk';
import type { Client, RequestOptions } from '@a2a-js/sdk/client';
import { isDetached, ProviderError } from '../../errors.js';
import type { AgentEvent, AgentMessage, HandleOptions, RemoteTask } from '../agent.js';
import { CALL_TOKEN_HEADER, type SignCall } from '../call.token.js';
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
  sign?: SignCall;
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
    const { task } = options;
    const request = toSendMessage(message, options);
    const continued = request.message?.taskId;
    const reader = new TaskReader(this.label, {
      redact: this.options.redact,
      ...(task ? { resumed: task } : { continued }),
      ...(continued && { usedBefore: options.usedBefore }),
    });
    const call = new A2aCall(this.options, async () => await this.serviceParameters(message, options));
    if (task) call.resume(task.taskId);
    // ends immediately, because the caller may never read again
    signal.addEventListener('abort', () => this.end(call, reader, isDetached(signal)));
    if (signal.aborted) return this.end(call, reader, isDetached(signal));
    try {
      yield* task ? this.ask(call, reader, signal) : this.send(call, request, { reader, signal });
      if (signal.aborted) return;
      yield* this.follow(call, reader, signal);
    } catch (error) {
      throw toA2aError(error, { label: this.label, redact: this.options.redact });
    }
  }

  /** Sends the message. As soon as the agent has answered with a task that is not finished, the call can continue without this process. */
  private async *send(
    call: A2aCall,
    request: SendMessageRequest,
    { reader, signal }: { reader: TaskReader; signal: AbortSignal },
  ): AsyncGenerator<AgentEvent> {
    let isAccepted = false;
    for await (const response of untilAborted(call.send(request), signal)) {
      yield* reader.read(response);
      const task: RemoteTask | undefined = isAccepted ? undefined : reader.accepted;
      if (task) yield { type: 'accepted', task };
      isAccepted ||= task !== undefined;
    }
    if (!signal.aborted) yield* reader.rest();
  }

  /** Reads a task that an earlier attempt has started, and subscribes to it if it has not ended. */
  private async *ask(call: A2aCall, reader: TaskReader, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    const { taskId = '' } = reader;
    yield* reader.task(await this.readAgain(call, taskId, signal, 'AGENT_TASK_LOST'));
    if (reader.ended || !this.options.streams || signal.aborted) return;
    for await (const response of untilAborted(this.subscribed(call, taskId), signal)) yield* reader.read(response);
  }

  /** An agent may reject the subscription because the task has just ended, or because it supports none: then the task is read again. */
  private async *subscribed(call: A2aCall, taskId: string): AsyncGenerator<StreamResponse> {
    try {
      yield* call.subscribe(taskId);
    } catch (error) {
      const { code } = toA2aError(error, { label: this.label, redact: this.options.redact });
      if (code !== 'AGENT_REQUEST_REFUSED') throw error;
    }
  }

  /** The headers of one request of the call. */
  private async serviceParameters({ a2a }: AgentMessage, options: HandleOptions): Promise<Record<string, string>> {
    const { extensions = [] } = a2a ?? {};
    const token = await this.options.sign?.(options);
    return {
      ...(extensions.length > 0 && { [HTTP_EXTENSION_HEADER]: extensions.join(',') }),
      ...(token !== undefined && { [CALL_TOKEN_HEADER]: token }),
    };
  }

  protected override async release(): Promise<void> {
    await Promise.all(this.cancellations);
  }

  /**
   * Polls the task until it has ended. If a stream was closed before the task ended, it polls only once: the agent may
   * have abandoned the task, and polling would never end. A task that waits for an authorization is polled until it continues.
   */
  private async *follow(call: A2aCall, reader: TaskReader, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    for (let pause = FIRST_POLL_MS; reader.taskId && !reader.ended; pause = Math.min(pause * 2, MAX_POLL_MS)) {
      await delay(pause, undefined, { signal });
      yield* reader.task(await this.readAgain(call, reader.taskId, signal));
      if (this.options.streams && !reader.needsAuthorization) return;
    }
  }

  /**
   * The agent has received the message, so a failure here means that the agent crashed or lost its task, and not that the caller made a
   * mistake. The error has no cause, because a refused connection as the cause would mean that nothing was sent.
   */
  private async readAgain(
    call: A2aCall,
    taskId: string,
    signal: AbortSignal,
    ifLost: 'AGENT_CRASHED' | 'AGENT_TASK_LOST' = 'AGENT_CRASHED',
  ): Promise<Task> {
    try {
      return await call.getTask(taskId, signal);
    } catch (error) {
      const { code, message } = toA2aError(error, { label: this.label, redact: this.options.redact });
      if (code !== 'AGENT_REQUEST_REFUSED') throw new ProviderError(code, message);
      throw new ProviderError(ifLost, `${this.label} no longer has its task.`);
    }
  }

  /** Cancels the task, unless it has ended or another replica continues the call. */
  private end(call: A2aCall, { ended }: TaskReader, isContinued: boolean): void {
    if (ended || isContinued) return call.disconnect();
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

  /** `headers` are made for each request, because the token of a call expires long before the call. */
  constructor(
    private readonly options: Pick<A2aAgentOptions, 'client' | 'streams'>,
    private readonly headers: () => Promise<Record<string, string>>,
  ) {}

  /** The task is known from an earlier attempt. */
  resume(taskId: string): void {
    this.taskId = taskId;
    this.answered.resolve();
  }

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
    return await this.options.client.getTask({ tenant: '', id, historyLength: 0 }, await this.with(signal));
  }

  async *subscribe(id: string): AsyncGenerator<StreamResponse> {
    yield* this.options.client.resubscribeTask({ tenant: '', id }, await this.with(this.connection.signal));
  }

  /** The task continues at the agent. */
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
    if (this.options.streams) return yield* this.options.client.sendMessageStream(request, await this.with(signal));
    const value = await this.options.client.sendMessage(request, await this.with(signal));
    yield { payload: 'messageId' in value ? { $case: 'message', value } : { $case: 'task', value } };
  }

  private async with(signal: AbortSignal): Promise<RequestOptions> {
    return { signal, serviceParameters: await this.headers() };
  }

  private async cancelTask(id: string, signal: AbortSignal): Promise<void> {
    try {
      await this.options.client.cancelTask({ tenant: '', id, metadata: undefined }, await this.with(signal));
    } catch {
      return; // the task has ended or no longer exists, so there is nothing to cancel
    }
  }
}

function taskIdOf({ payload }: StreamResponse): string | undefined {
  if (payload?.$case === 'task') return payload.value.id;
  return payload?.$case === 'message' || payload === undefined ? undefined : payload.value.taskId || undefined;
}
