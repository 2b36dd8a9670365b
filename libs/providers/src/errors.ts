import type { ModelUsage } from './models/usage.js';

/** Every way a provider can refuse or fail. An edge answers each one in a table, so a new code does not compile until it does. */
export type ProviderErrorCode = keyof typeof TRAITS;

/** Who has to act: a circuit breaker counts `remote` only, since the other two say nothing about the other side's health. */
export type Fault = 'caller' | 'operator' | 'remote';

interface Traits {
  retryable: boolean;
  fault: Fault;
}

const TRAITS = {
  CALL_ABORTED: { retryable: false, fault: 'caller' },

  MODEL_VENDOR_UNKNOWN: { retryable: false, fault: 'caller' },
  MODEL_VENDOR_TAKEN: { retryable: false, fault: 'operator' },
  MODEL_CHOICE_INVALID: { retryable: false, fault: 'caller' },
  MODEL_PRESET_UNKNOWN: { retryable: false, fault: 'caller' },
  MODEL_PRESETS_INVALID: { retryable: false, fault: 'operator' },
  MODEL_KEY_MISSING: { retryable: false, fault: 'operator' },
  MODEL_KEY_REFUSED: { retryable: false, fault: 'operator' },
  MODEL_QUOTA_EXHAUSTED: { retryable: false, fault: 'operator' },
  MODEL_REQUEST_REFUSED: { retryable: false, fault: 'caller' },
  MODEL_RATE_LIMITED: { retryable: true, fault: 'remote' },
  MODEL_OVERLOADED: { retryable: true, fault: 'remote' },
  MODEL_UNAVAILABLE: { retryable: true, fault: 'remote' },
  MODEL_STREAM_BROKEN: { retryable: true, fault: 'remote' },
  MODEL_ANSWER_UNREADABLE: { retryable: true, fault: 'remote' },
  MODEL_SCRIPT_MISMATCH: { retryable: false, fault: 'caller' },

  AGENT_PROVIDER_UNKNOWN: { retryable: false, fault: 'caller' },
  AGENT_PROVIDER_TAKEN: { retryable: false, fault: 'operator' },
  AGENT_SETTINGS_INVALID: { retryable: false, fault: 'caller' },
  AGENT_PACKAGE_MISSING: { retryable: false, fault: 'operator' },
  AGENT_CREDENTIAL_REFUSED: { retryable: false, fault: 'operator' },
  AGENT_REQUEST_REFUSED: { retryable: false, fault: 'caller' },
  /** It did what it could within the turns or the money it was given. */
  AGENT_LIMIT_REACHED: { retryable: false, fault: 'caller' },
  AGENT_CLOSED: { retryable: false, fault: 'caller' },
  AGENT_RATE_LIMITED: { retryable: true, fault: 'remote' },
  AGENT_UNREACHABLE: { retryable: true, fault: 'remote' },
  AGENT_CRASHED: { retryable: true, fault: 'remote' },
  AGENT_FAILED: { retryable: false, fault: 'remote' },
  AGENT_ANSWER_UNREADABLE: { retryable: false, fault: 'remote' },

  USAGE_KEY_REFUSED: { retryable: false, fault: 'operator' },
  USAGE_RATE_LIMITED: { retryable: true, fault: 'remote' },
  USAGE_SOURCE_UNAVAILABLE: { retryable: true, fault: 'remote' },
  USAGE_ANSWER_UNREADABLE: { retryable: false, fault: 'remote' },

  EGRESS_DENIED: { retryable: false, fault: 'caller' },
  EGRESS_REDIRECTED: { retryable: false, fault: 'remote' },
  EGRESS_TOO_LARGE: { retryable: false, fault: 'remote' },
  EGRESS_TIMED_OUT: { retryable: true, fault: 'remote' },
  EGRESS_UNREACHABLE: { retryable: true, fault: 'remote' },
} as const satisfies Record<string, Traits>;

export interface ProviderErrorFacts extends ErrorOptions {
  /** Overrules what the code says, where the other side said so itself. */
  retryable?: boolean;
  /** When trying again may help, in milliseconds from now. */
  retryAfterMs?: number;
  /** The status the other side answered with, for logs. */
  status?: number;
  /** What the failed attempt is known to have used: every attempt is charged. */
  usage?: ModelUsage;
}

/**
 * A refusal or failure with a stable code and no idea of our own transport. The message says what to do next and never
 * holds a key; nor does the cause, because foreign errors are not passed on (they quote requests and responses).
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly retryable: boolean;
  readonly fault: Fault;
  readonly retryAfterMs?: number;
  readonly status?: number;
  readonly usage?: ModelUsage;

  constructor(
    readonly code: ProviderErrorCode,
    message: string,
    facts: ProviderErrorFacts = {},
  ) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.retryable = facts.retryable ?? TRAITS[code].retryable;
    this.fault = TRAITS[code].fault;
    if (facts.retryAfterMs !== undefined) this.retryAfterMs = facts.retryAfterMs;
    if (facts.status !== undefined) this.status = facts.status;
    if (facts.usage !== undefined) this.usage = facts.usage;
  }
}

export function aborted(what: string): ProviderError {
  return new ProviderError('CALL_ABORTED', `${what} was cancelled by its caller.`);
}

/** The text of anything thrown. Errors of Node's own realm are not `instanceof` ours under every loader. */
export function reasonOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' && message !== '' ? message : String(error);
}
