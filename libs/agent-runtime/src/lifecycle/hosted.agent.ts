import { type Agent, type AgentState, ProviderError } from '#rollcall/providers';
import type { DefinitionContent } from '../definitions/definition.js';
import { CallSlots, SlotsClosed } from './call.slots.js';
import type { AgentUse } from './hosted.agents.js';
import type { ShutdownDetail } from './shutdown/shutdown.report.js';

/** What an agent is built from. */
export interface Blueprint {
  content: DefinitionContent;
  /** Null if the content does not come from a definition. */
  revision: number | null;
}

export interface HostedAgentOptions {
  /** Reads what the agent is built from. It is called for each instance, so that the newest revision is used. */
  blueprint(): Promise<Blueprint>;
  build(content: DefinitionContent): Promise<Agent>;
  /** How long the calls of a replaced instance may continue. */
  drainMs: number;
  /** How long an instance may take to close. */
  closeMs: number;
  /** Called when a replaced instance was closed in the background. */
  onRetired(detail: ShutdownDetail): void;
}

const NOTHING: ShutdownDetail = { phase: 'stop', durationMs: 0, forced: false, error: null };

const TIMED_OUT: unique symbol = Symbol('timed out');

/**
 * The agent of one name on this replica. Its instance is built on first use, once for any number of concurrent callers (S0.3), and a failed
 * attempt is not kept (S0.4). `renew` lets the calls in progress finish on the old instance, and the next call builds a new one.
 */
export class HostedAgent {
  private current?: Promise<AgentInstance>;
  /** The instance, once it is built. */
  private built?: AgentInstance;
  /** The replaced instances whose calls have not ended. */
  private readonly retiring = new Set<Promise<AgentInstance>>();
  private isClosed = false;
  private usedAt = performance.now();

  constructor(private readonly options: HostedAgentOptions) {}

  get state(): AgentState {
    if (this.isClosed) return 'closed';
    return this.built?.state ?? 'idle';
  }

  get inFlight(): number {
    return this.built?.inFlight ?? 0;
  }

  /** Whether it has neither a current instance nor a replaced one whose calls have not ended. */
  get isEmpty(): boolean {
    return this.current === undefined && this.retiring.size === 0;
  }

  /** For how long no call has started or ended; 0 while a call is in progress. */
  get idleMs(): number {
    return this.inFlight > 0 ? 0 : performance.now() - this.usedAt;
  }

  async use(waits = false): Promise<AgentUse> {
    for (;;) {
      this.usedAt = performance.now();
      const instance = await this.instance();
      try {
        return this.timed(await instance.use(waits));
      } catch (error) {
        if (!(error instanceof SlotsClosed)) throw error; // the instance was replaced while the call waited: use the new one
      }
    }
  }

  /** Builds the instance if there is none. Concurrent callers share one attempt. */
  async instance(): Promise<AgentInstance> {
    for (;;) {
      if (this.isClosed) throw new ProviderError('AGENT_CLOSED', 'The agent was shut down.');
      const attempt = (this.current ??= this.start());
      const instance = await attempt;
      if (this.current === attempt) return instance;
    }
  }

  /** Makes the next call build a new instance. With `isOutdated`, only if it returns true for the revision of the current instance. */
  renew(isOutdated?: (revision: number) => boolean): void {
    const { current, built } = this;
    if (!current) return;
    const renewIfOutdated = ({ blueprint: { revision } }: AgentInstance): void => {
      if (this.current === current && (!isOutdated || isOutdated(revision ?? 0))) this.retire(current);
    };
    if (built) renewIfOutdated(built);
    else if (isOutdated) void current.then(renewIfOutdated, ignore);
    else this.retire(current);
  }

  /** Ends all calls, and closes all instances within the time. */
  async close(limitMs: number): Promise<ShutdownDetail> {
    this.isClosed = true;
    const { current, retiring } = this;
    this.forget();
    const others = [...retiring].map(async (old) => await closed(old, limitMs));
    const [detail] = await Promise.all([current ? closed(current, limitMs) : NOTHING, ...others]);
    return detail;
  }

  private timed(use: AgentUse): AgentUse {
    const release = (): void => {
      this.usedAt = performance.now();
      use.release();
    };
    return { ...use, release };
  }

  private start(): Promise<AgentInstance> {
    const attempt = this.build();
    void this.keepBuilt(attempt);
    return attempt;
  }

  private async keepBuilt(attempt: Promise<AgentInstance>): Promise<void> {
    const instance = await attempt.catch(ignore);
    if (this.current !== attempt) return;
    if (instance) this.built = instance;
    else this.forget();
  }

  private async build(): Promise<AgentInstance> {
    const blueprint = await this.options.blueprint();
    return new AgentInstance(await this.options.build(blueprint.content), blueprint);
  }

  private retire(attempt: Promise<AgentInstance>): void {
    this.forget();
    this.retiring.add(attempt);
    void this.drain(attempt).finally(() => this.retiring.delete(attempt));
  }

  private async drain(attempt: Promise<AgentInstance>): Promise<void> {
    const { drainMs, closeMs, onRetired } = this.options;
    const instance = await attempt.catch(ignore);
    if (instance) onRetired(await instance.retire(drainMs, closeMs));
  }

  private forget(): void {
    this.current = undefined;
    this.built = undefined;
  }
}

/** One built agent with its calls. A new revision of the definition gets a new instance. */
class AgentInstance {
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

const ignore = (): undefined => undefined;

/** Closes an instance that may still be under construction. If it is not ready in time, it is closed as soon as it is built. */
async function closed(attempt: Promise<AgentInstance>, limitMs: number): Promise<ShutdownDetail> {
  const started = performance.now();
  const instance = await within(limitMs, attempt.catch(ignore));
  if (instance === undefined) return NOTHING;
  const durationMs = performance.now() - started;
  if (instance !== TIMED_OUT) return await instance.close(limitMs - durationMs);
  void attempt.then(async (late) => await late.close(limitMs), ignore);
  return abandoned(durationMs, 'The agent was still being built at the deadline.');
}

/** The result of the work, or `TIMED_OUT`. After a timeout, the work continues. */
async function within<Value>(limitMs: number, work: Promise<Value>): Promise<Value | typeof TIMED_OUT> {
  const late = Promise.withResolvers<typeof TIMED_OUT>();
  const timer = setTimeout(() => late.resolve(TIMED_OUT), Math.max(0, limitMs)).unref();
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function abandoned(durationMs: number, message: string): ShutdownDetail {
  return { phase: 'kill', durationMs: Math.round(durationMs), forced: true, error: new Error(message) };
}
