import { aborted, ProviderError } from '../errors.js';
import { unreachable } from './agent.errors.js';
import type { Agent, AgentEvent, AgentMessage, AgentState, AgentType, HandleOptions } from './agent.js';

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

type Respond = (signal: AbortSignal) => AsyncIterable<AgentEvent>;

/** The abort reason of the signal of an ended call. All calls share it, because a new error for each call costs a stack trace. */
const CALL_ENDED = aborted('A call that has ended');

/**
 * Tracks the calls of an agent, in the same way for all kinds of agents. It provides the state of the agent, ends every
 * call with exactly one result or error, and ends all calls when the agent is closed. When a call ends for any reason,
 * its own signal is aborted, so that everything it started stops.
 */
class CallTracker {
  private readonly inFlight = new Set<AbortController>();
  private closed = false;
  private lastFailed = false;

  constructor(private readonly label: string) {}

  get state(): AgentState {
    if (this.closed) return 'closed';
    if (this.inFlight.size > 0) return 'busy';
    return this.lastFailed ? 'failed' : 'idle';
  }

  async *run(caller: AbortSignal | undefined, respond: Respond): AsyncGenerator<AgentEvent> {
    if (this.closed) throw this.closedError();
    if (caller?.aborted) throw this.cancelled(caller);
    const call = new AbortController();
    this.inFlight.add(call);
    try {
      const signal = caller ? AbortSignal.any([caller, call.signal]) : call.signal;
      for await (const event of respond(signal)) {
        if (signal.aborted) break; // the agent may have read several events before the abort
        if (event.type === 'finished') this.lastFailed = false; // before the yield, because many callers stop reading at this event
        yield event;
        if (event.type === 'finished') return;
      }
      throw new ProviderError('AGENT_CRASHED', `${this.label} ended its response without a result.`);
    } catch (error) {
      throw this.explain(error, caller);
    } finally {
      this.inFlight.delete(call);
      call.abort(CALL_ENDED);
    }
  }

  close(): void {
    this.closed = true;
    for (const call of this.inFlight) call.abort();
  }

  private explain(error: unknown, caller?: AbortSignal): unknown {
    if (this.closed && !caller?.aborted) return this.closedError();
    const explained = caller?.aborted ? this.cancelled(caller) : unreachable(error, this.label);
    if (!caller?.aborted || isAgentFault(explained)) this.lastFailed = isAgentFault(explained);
    return explained;
  }

  /** If the signal has a ProviderError as its reason, such as an exceeded deadline, the call fails with that error. */
  private cancelled({ reason }: AbortSignal): ProviderError {
    return reason instanceof ProviderError ? reason : aborted(`The call to ${this.label}`);
  }

  private closedError(): ProviderError {
    return new ProviderError('AGENT_CLOSED', `${this.label} is shut down. Spawn it again before you call it.`);
  }
}

/** Errors of unknown origin count as errors of the agent. */
function isAgentFault(error: unknown): boolean {
  return !(error instanceof ProviderError) || error.fault === 'remote';
}

/** Yields the values of a source, but ends immediately when the signal is aborted, even if the source reacts slowly. */
export async function* untilAborted<Value>(values: AsyncIterable<Value>, signal: AbortSignal): AsyncGenerator<Value> {
  const ended = Promise.withResolvers<undefined>();
  const end = (): void => ended.resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  const iterator = values[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = iterator.next();
      const step = signal.aborted ? undefined : await Promise.race([next, ended.promise]);
      if (!step) return void next.catch(() => undefined); // this value is never read
      if (step.done) return;
      yield step.value;
    }
  } finally {
    signal.removeEventListener('abort', end);
    void iterator.return?.().catch(() => undefined); // not awaited, because the source may be slow
  }
}
