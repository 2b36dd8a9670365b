import { aborted, ProviderError } from '../errors.js';
import type { AgentEvent, AgentState } from './agent.js';
import { unreachable } from './agent.status.js';

type Converse = (signal: AbortSignal) => AsyncIterable<AgentEvent>;

/**
 * The part of an agent that is the same for all of them: its state, the end of every call with exactly one result or one
 * error, and the end of all calls when the agent is closed. Whatever way a call ends, its own signal is aborted, so that
 * nothing it started goes on.
 */
export class CallTracker {
  private readonly underWay = new Set<AbortController>();
  private closed = false;
  private lastFailed = false;

  constructor(private readonly label: string) {}

  get state(): AgentState {
    if (this.closed) return 'closed';
    if (this.underWay.size > 0) return 'busy';
    return this.lastFailed ? 'failed' : 'idle';
  }

  async *run(caller: AbortSignal | undefined, converse: Converse): AsyncGenerator<AgentEvent> {
    if (this.closed) throw this.closedError();
    if (caller?.aborted) throw this.cancelled(caller);
    const call = new AbortController();
    this.underWay.add(call);
    try {
      yield* this.untilFinished(converse(caller ? AbortSignal.any([caller, call.signal]) : call.signal));
    } catch (error) {
      throw this.explain(error, caller);
    } finally {
      this.underWay.delete(call);
      call.abort();
    }
  }

  close(): void {
    this.closed = true;
    for (const call of this.underWay) call.abort();
  }

  private async *untilFinished(events: AsyncIterable<AgentEvent>): AsyncGenerator<AgentEvent> {
    for await (const event of events) {
      if (event.type === 'finished') this.lastFailed = false; // now, since many leave with this event in hand
      yield event;
      if (event.type === 'finished') return;
    }
    throw new ProviderError('AGENT_CRASHED', `${this.label} ended its answer without a result.`);
  }

  private explain(error: unknown, caller?: AbortSignal): unknown {
    if (this.closed && !caller?.aborted) return this.closedError();
    const explained = caller?.aborted ? this.cancelled(caller) : unreachable(error, this.label);
    if (!caller?.aborted || isRemote(explained)) this.lastFailed = isRemote(explained);
    return explained;
  }

  /** A caller that has a reason of our kind, such as a time that the agent should have kept, gets it back. */
  private cancelled({ reason }: AbortSignal): ProviderError {
    return reason instanceof ProviderError ? reason : aborted(`The call to ${this.label}`);
  }

  private closedError(): ProviderError {
    return new ProviderError('AGENT_CLOSED', `${this.label} is shut down. Spawn it again to use it.`);
  }
}

/** Also what is not one of ours: no one else can be blamed for it. */
function isRemote(error: unknown): boolean {
  return !(error instanceof ProviderError) || error.fault === 'remote';
}
