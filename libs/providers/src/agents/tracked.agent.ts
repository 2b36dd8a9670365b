import type { Agent, AgentEvent, AgentMessage, AgentState, AgentType, HandleOptions } from './agent.js';
import { CallTracker } from './call.tracker.js';

/**
 * Implements the part of `Agent` that is the same for all kinds of agents, so that a subclass only implements
 * `respond`. The signal of `respond` is aborted when the call ends for any reason.
 */
export abstract class TrackedAgent implements Agent {
  abstract readonly agentType: AgentType;
  /** The name of the agent in error messages. */
  protected readonly label: string;
  private readonly calls: CallTracker;

  constructor(readonly name: string) {
    this.label = `Agent ${name}`;
    this.calls = new CallTracker(this.label);
  }

  get state(): AgentState {
    return this.calls.state;
  }

  handle(message: AgentMessage, options: HandleOptions = {}): AsyncIterable<AgentEvent> {
    return this.calls.run(options.signal, (signal) => this.respond(message, signal, options));
  }

  async shutdown(): Promise<void> {
    this.calls.close();
    await this.release();
  }

  /** Yields the events of one call, ending with `finished`, or throws a ProviderError. */
  protected abstract respond(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncIterable<AgentEvent>;

  /** Releases resources that are shared by several calls. All calls have been aborted before. */
  protected async release(): Promise<void> {
    return await Promise.resolve();
  }
}
