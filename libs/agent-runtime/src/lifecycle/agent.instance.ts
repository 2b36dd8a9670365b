import { type Agent, type AgentState, ProviderError } from '#rollcall/providers';
import type { DefinitionContent } from '../definitions/definition.js';
import { CallSlots } from './call.slots.js';
import type { AgentUse } from './hosted.agents.js';
import type { ShutdownDetail } from './shutdown.report.js';

export const TIMED_OUT: unique symbol = Symbol('timed out');

/** What an agent is built from. */
export interface Blueprint {
  content: DefinitionContent;
  /** Null if the content does not come from a definition. */
  revision: number | null;
}

/** One built agent with its calls. A new revision of the definition gets a new instance. */
export class AgentInstance {
  private readonly slots: CallSlots;
  private readonly ending = new AbortController();

  constructor(
    private readonly agent: Agent,
    readonly blueprint: Blueprint,
  ) {
    const { maxConcurrency: limit, whenBusy } = blueprint.content;
    this.slots = new CallSlots({ name: agent.name, limit, whenBusy });
  }

  get inFlight(): number {
    return this.slots.active;
  }

  /** Read from the agent. A call that the agent itself does not count also makes it busy. */
  get state(): AgentState {
    const { state } = this.agent;
    return state === 'idle' && this.inFlight > 0 ? 'busy' : state;
  }

  async use(waits = false): Promise<AgentUse> {
    const release = await this.slots.acquire(waits);
    return { agent: this.agent, revision: this.blueprint.revision, signal: this.ending.signal, release };
  }

  /** Accepts no more calls, and closes the agent when its calls have ended, or after `drainMs`. */
  async retire(drainMs: number, closeMs: number): Promise<ShutdownDetail> {
    this.slots.close();
    await within(drainMs, this.slots.empty());
    return await this.close(closeMs);
  }

  /**
   * Accepts no more calls, aborts the calls in progress, and waits until they have ended and the agent has released its resources. After
   * `limitMs`, the agent is abandoned.
   */
  async close(limitMs: number): Promise<ShutdownDetail> {
    const started = performance.now();
    this.slots.close();
    const wasBusy = this.slots.active > 0;
    this.ending.abort(new ProviderError('AGENT_CLOSED', `Agent ${this.agent.name} was shut down.`));
    const closing = this.shutdown();
    const ended = await within(
      limitMs,
      Promise.all([closing, this.slots.empty()]).then(([error]) => error),
    );
    const durationMs = Math.round(performance.now() - started);
    if (ended === TIMED_OUT)
      return abandoned(durationMs, 'The agent had not ended at the deadline, and was abandoned.');
    if (ended) return { phase: 'abort', durationMs, forced: false, error: ended };
    return { phase: wasBusy ? 'drain' : 'stop', durationMs, forced: false, error: null };
  }

  private async shutdown(): Promise<Error | undefined> {
    try {
      await this.agent.shutdown();
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }
}

/** The result of the work, or `TIMED_OUT`. After a timeout, the work continues. */
export async function within<Value>(limitMs: number, work: Promise<Value>): Promise<Value | typeof TIMED_OUT> {
  const late = Promise.withResolvers<typeof TIMED_OUT>();
  const timer = setTimeout(() => late.resolve(TIMED_OUT), Math.max(0, limitMs)).unref();
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

export function abandoned(durationMs: number, message: string): ShutdownDetail {
  return { phase: 'kill', durationMs: Math.round(durationMs), forced: true, error: new Error(message) };
}
