import { randomKey } from '../call.js';
import type { Operations } from '../generated/operations.js';
import type { RegisterBody, RegistrationView } from '../generated/schema.js';
import { pause, pauseBefore } from '../pause.js';
import { isTransient, RollcallError } from '../rollcall.error.js';

/** One registration of the agent. */
export interface Lease {
  readonly agentId: string;
  readonly generation: number;
  readonly leaseToken: string;
  /** How long a request may take: the lease is long enough for several attempts. */
  readonly timeoutMs: number;
  /** The operations, called with the lease token. */
  readonly agents: Operations['agents'];
}

export interface LeaseOptions {
  readonly declared: RegisterBody;
  /** The operations, called with this credential or with that of the client. */
  readonly agents: (credential?: string) => Operations['agents'];
  onRegistered(registration: RegistrationView): void;
  /** The registration has ended, and the next one has not begun. */
  onLost(): void;
  onError(error: RollcallError): void;
}

/** Why an agent has ended without an error. `replaced`: another process serves this agentId now. */
export type EndReason = 'shutdown' | 'drained' | 'deregistered' | 'budget_exhausted' | 'replaced';

/** The registration has ended, but not on purpose: the agent registers again. */
const LOST_CODES = new Set<string>([
  'REGISTER_AGAIN',
  'UNAUTHENTICATED',
  'LEASE_TOKEN_REFUSED',
  'AGENT_NOT_FOUND',
  'GENERATION_AHEAD',
]);
const FINAL_REASONS = new Set<string | undefined>(['deregistered', 'shutdown', 'drained', 'budget_exhausted']);
const REQUESTS_PER_LEASE = 8;

/**
 * The registration of an agent. All loops of the agent get it from here, and pass their errors to `recover`, which decides for all of them
 * whether to repeat a request, to register again, or to end the agent.
 */
export class AgentLease {
  /** Aborted when the agent has ended. */
  readonly life = new AbortController();
  /** Why the agent has ended. Rejects if it cannot register any more. */
  readonly ended: Promise<EndReason>;
  end: (reason: EndReason) => void = () => {};
  private fail: (error: unknown) => void = () => {};
  private lease: Lease | undefined;
  private registering: Promise<Lease> | undefined;
  /** The lease token of the last registration. */
  private previous: string | undefined;

  constructor(private readonly options: LeaseOptions) {
    this.ended = new Promise((resolve, reject) => {
      this.end = (reason) => this.finish(() => resolve(reason));
      this.fail = (error) => this.finish(() => reject(error));
    });
    this.ended.catch(() => {}); // `done` of the agent rejects with it, too
  }

  get current(): Lease | undefined {
    return this.lease;
  }

  /** Returns the registration, and registers if there is none. */
  async get(): Promise<Lease> {
    this.life.signal.throwIfAborted();
    return this.lease ?? (await (this.registering ??= this.register().finally(() => (this.registering = undefined))));
  }

  /** Pauses or registers again, so that the request can be sent again. Ends the agent, and throws, if that would not help. */
  async recover(error: unknown, used: Lease, failures: number): Promise<void> {
    this.life.signal.throwIfAborted();
    if (used !== this.lease) return; // registered again in the meantime
    const { code, problem } = error instanceof RollcallError ? error : { code: '', problem: undefined };
    const isFinal = code === 'REGISTER_AGAIN' && FINAL_REASONS.has(problem?.reason);
    if (LOST_CODES.has(code) && !isFinal) {
      this.lease = undefined;
      return this.options.onLost();
    }
    if (error instanceof RollcallError && isTransient(error)) return await this.pauseAfter(error, failures);
    if (isFinal) this.end(problem?.reason as EndReason);
    else if (code === 'STALE_GENERATION') this.end('replaced');
    else this.fail(error);
    throw error;
  }

  /** Only the first registration takes over: the previous process may have crashed and may still be listed. */
  private async register(): Promise<Lease> {
    const { declared, agents, onRegistered } = this.options;
    const { signal } = this.life;
    const token = this.previous;
    const body = { ...declared, ...(token === undefined ? { takeover: true } : { leaseToken: token }) };
    const idempotencyKey = randomKey(); // if only the response is lost, the repetition returns the same registration
    for (let failures = 1; ; failures += 1) {
      try {
        const registered = await agents().register(body, { signal, idempotencyKey, timeoutMs: 10_000 });
        const { agentId, generation, leaseToken, heartbeat } = registered;
        this.previous = leaseToken;
        const timeoutMs = heartbeat.leaseMs / REQUESTS_PER_LEASE;
        this.lease = { agentId, generation, leaseToken, timeoutMs, agents: agents(leaseToken) };
        onRegistered(registered);
        return this.lease;
      } catch (error) {
        if (!(error instanceof RollcallError) || !isTransient(error)) {
          const isReplaced = error instanceof RollcallError && error.code === 'AGENT_ALREADY_REGISTERED';
          if (isReplaced && token !== undefined) this.end('replaced');
          else this.fail(error);
          throw error;
        }
        await this.pauseAfter(error, failures);
      }
    }
  }

  private async pauseAfter(error: RollcallError, failures: number): Promise<void> {
    this.options.onError(error);
    await pause(pauseBefore(failures, error.retryAfterMs), this.life.signal);
  }

  private finish(settle: () => void): void {
    settle();
    this.life.abort();
  }
}
