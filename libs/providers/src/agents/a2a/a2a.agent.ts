import type { Client } from '@a2a-js/sdk/client';
import { A2AError } from '@a2a-js/sdk/errors';
import { ProviderError, reasonOf } from '../../errors.js';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { unreachable } from '../agent.status.js';
import { TrackedAgent } from '../tracked.agent.js';
import { TaskReader, toSendMessage } from './a2a.mapper.js';

export interface A2aAgentOptions {
  name: string;
  client: Client;
  /** Takes the key out of what the other side said. */
  hide(text: string): string;
}

/** A remote agent is told that its task is cancelled, but not waited for any longer than this. */
const CANCEL_MS = 800;
const LONGEST_REASON = 300;

/** A remote agent that speaks A2A 1.0, streaming where its card says that it can. */
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
      const responses = this.options.client.sendMessageStream(request, { signal });
      for await (const response of responses) yield* reader.read(response);
      yield* reader.rest();
    } catch (error) {
      throw this.explain(error);
    }
  }

  protected override async release(): Promise<void> {
    await Promise.all(this.farewells);
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

  private explain(error: unknown): unknown {
    const explained = unreachable(error, this.label);
    if (explained instanceof ProviderError) return explained;
    const reason = this.options.hide(reasonOf(error)).slice(0, LONGEST_REASON);
    if (isRefusal(error)) return new ProviderError('AGENT_FAILED', `${this.label} failed: ${reason}`);
    return new ProviderError('AGENT_ANSWER_UNREADABLE', `${this.label} does not speak A2A as expected: ${reason}`);
  }
}

/** An error of the protocol itself, sent by the other side. */
function isRefusal(error: unknown): boolean {
  return error instanceof A2AError || (error as { cause?: unknown }).cause instanceof A2AError;
}
