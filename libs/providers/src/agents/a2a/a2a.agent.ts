import { setTimeout as delay } from 'node:timers/promises';
import type { Task } from '@a2a-js/sdk';
import type { Client } from '@a2a-js/sdk/client';
import { ProviderError } from '../../errors.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { TrackedAgent } from '../tracked.agent.js';
import { untilAborted } from '../until-aborted.js';
import { toA2aError } from './a2a.errors.js';
import { A2aCall } from './a2a.call.js';
import { toSendMessage } from './a2a.mapper.js';
import { TaskReader } from './task.reader.js';

export interface A2aAgentOptions {
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
