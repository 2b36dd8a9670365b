import type { Agent, AgentEvent, AgentMessage, AgentState, AgentType, HandleOptions } from './agent.js';
import { CallTracker } from './call.tracker.js';

/**
 * Keeps the promises of `Agent` that do not depend on what an agent is made of, so that a kind of agents need only say
 * how one conversation goes. It gives `converse` a signal that is aborted when the call ends, in whatever way.
 */
export abstract class TrackedAgent implements Agent {
  abstract readonly agentType: AgentType;
  /** How error messages call it. */
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
    return this.calls.run(options.signal, (signal) => this.converse(message, signal, options));
  }

  async shutdown(): Promise<void> {
    this.calls.close();
    await this.release();
  }

  /** Yields what is said, ending with `finished`, or throws a ProviderError. */
  protected abstract converse(
    message: AgentMessage,
    signal: AbortSignal,
    options: HandleOptions,
  ): AsyncIterable<AgentEvent>;

  /** Lets go of what outlives a single call. All calls have been told to end. */
  protected async release(): Promise<void> {
    return await Promise.resolve();
  }
}
