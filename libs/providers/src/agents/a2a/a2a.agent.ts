import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@a2a-js/sdk/client';
import type { AgentEvent, AgentMessage, HandleOptions } from '../agent.js';
import { TrackedAgent } from '../tracked.agent.js';
import { untilAborted } from '../until-aborted.js';
import { toA2aError } from './a2a.errors.js';
import { Errand } from './a2a.errand.js';
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
    const errand = new Errand(this.options.client, this.options.streams);
    // At once, not when the caller next looks at its events: it may never look again.
    signal.addEventListener('abort', () => this.end(errand, reader));
    try {
      for await (const response of untilAborted(errand.send(request), signal)) yield* reader.read(response);
      if (signal.aborted) return;
      yield* reader.rest();
      yield* this.follow(errand, reader, signal);
    } catch (error) {
      throw toA2aError(error, { label: this.label, hide: this.options.hide });
    }
  }

  protected override async release(): Promise<void> {
    await Promise.all(this.farewells);
  }

  /**
   * Looks at the task until it has ended. After a stream that was closed in good order, but too early, one look must do:
   * a task that nobody works on any more would be looked at for ever.
   */
  private async *follow(errand: Errand, reader: TaskReader, signal: AbortSignal): AsyncGenerator<AgentEvent> {
    for (let pause = FIRST_LOOK_MS; reader.taskId && !reader.ended; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      await delay(pause, undefined, { signal });
      yield* reader.task(await errand.look(reader.taskId, signal));
      if (this.options.streams) return;
    }
  }

  private end(errand: Errand, { ended }: TaskReader): void {
    if (ended) return errand.hangUp();
    const farewell = errand.cancelLater().finally(() => this.farewells.delete(farewell));
    this.farewells.add(farewell);
  }
}
