import type { ModelUsage } from './models/model.provider.js';

/**
 * The codes of all provider errors. Each transport maps them in an exhaustive table, so a new code compiles only when
 * it is mapped.
 */
export type ProviderErrorCode = keyof typeof TRAITS;

/** Who caused the error. A circuit counts only `remote`, because the other two say nothing about the health of the agent. */
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
  AGENT_CLOSED: { retryable: false, fault: 'caller' },
  AGENT_RATE_LIMITED: { retryable: true, fault: 'remote' },
  AGENT_UNREACHABLE: { retryable: true, fault: 'remote' },
  AGENT_CRASHED: { retryable: true, fault: 'remote' },
  /** The agent no longer knows the task that it had accepted. */
  AGENT_TASK_LOST: { retryable: false, fault: 'remote' },
  AGENT_FAILED: { retryable: false, fault: 'remote' },
  AGENT_ANSWER_UNREADABLE: { retryable: false, fault: 'remote' },

  MCP_SETTINGS_INVALID: { retryable: false, fault: 'operator' },
  MCP_CREDENTIAL_REFUSED: { retryable: false, fault: 'operator' },
  MCP_SERVER_UNREACHABLE: { retryable: true, fault: 'remote' },
  MCP_TIMED_OUT: { retryable: true, fault: 'remote' },
  MCP_ANSWER_UNREADABLE: { retryable: false, fault: 'remote' },
  /** The server answered a request with an error. */
  MCP_TOOL_FAILED: { retryable: false, fault: 'remote' },

  USAGE_KEY_REFUSED: { retryable: false, fault: 'operator' },
  USAGE_RATE_LIMITED: { retryable: true, fault: 'remote' },
  USAGE_SOURCE_UNAVAILABLE: { retryable: true, fault: 'remote' },
  USAGE_ANSWER_UNREADABLE: { retryable: false, fault: 'remote' },

  EGRESS_DENIED: { retryable: false, fault: 'caller' },
  /** Checking the endpoints of one request took too long. */
  ENDPOINT_NOT_CHECKED: { retryable: true, fault: 'remote' },
  EGRESS_REDIRECTED: { retryable: false, fault: 'remote' },
  EGRESS_TOO_LARGE: { retryable: false, fault: 'remote' },
  EGRESS_TIMED_OUT: { retryable: true, fault: 'remote' },
  EGRESS_UNREACHABLE: { retryable: true, fault: 'remote' },
} as const satisfies Record<string, Traits>;

/** A chain of causes may be a cycle. */
const MAX_CAUSES = 10;

export interface ProviderErrorOptions extends ErrorOptions {
  /** Overrides the default of the code if the remote side states whether a retry can succeed. */
  retryable?: boolean;
  /** How long to wait before a retry can succeed, in milliseconds. */
  retryAfterMs?: number;
  /** The HTTP status of the response, for logs. */
  status?: number;
  /**
   * What the operator needs to find the cause, such as the standard error of a program. It may contain paths of this machine and texts of
   * others, so it goes to the log only, and never to a caller (S-16).
   */
  logDetail?: string;
  /** The known usage of the failed attempt. Every attempt is charged. */
  usage?: ModelUsage;
}

/**
 * An error with a stable code. It does not depend on a transport. The message states what to do next. Neither
 * the message nor the cause ever contains a key: errors of libraries are not used as cause, because they contain
 * requests and responses.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  readonly retryable: boolean;
  readonly fault: Fault;
  readonly retryAfterMs?: number;
  readonly status?: number;
  readonly usage?: ModelUsage;
  /** For the log only. It is not part of JSON. */
  readonly #logDetail: string | undefined;

  constructor(
    readonly code: ProviderErrorCode,
    message: string,
    options: ProviderErrorOptions = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.retryable = options.retryable ?? TRAITS[code].retryable;
    this.fault = TRAITS[code].fault;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
    if (options.status !== undefined) this.status = options.status;
    if (options.usage !== undefined) this.usage = options.usage;
    this.#logDetail = options.logDetail;
  }

  get logDetail(): string | undefined {
    return this.#logDetail;
  }
}

/**
 * The reason of a signal that ends a call only for this process, because another replica continues it. An agent that has accepted the
 * call must continue its work.
 */
export class CallDetachedError extends ProviderError {
  constructor() {
    super('CALL_ABORTED', 'The call is continued by another replica.');
  }
}

/** Whether the call was ended only for this process. */
export function isDetached(signal: AbortSignal | undefined): boolean {
  return signal?.reason instanceof CallDetachedError;
}

export function aborted(what: string): ProviderError {
  return new ProviderError('CALL_ABORTED', `${what} was cancelled by its caller.`);
}

/** Finds a ProviderError in the chain of causes, because libraries wrap it. */
export function findProviderError(error: unknown): ProviderError | undefined {
  let at = error;
  for (let depth = 0; at && depth < MAX_CAUSES; depth += 1) {
    if (at instanceof ProviderError) return at;
    at = (at as { cause?: unknown }).cause;
  }
  return undefined;
}

/**
 * Returns the message of any thrown value. It does not use `instanceof`, because errors of Node may come from another
 * realm in tests.
 */
export function reasonOf(error: unknown): string {
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === 'string' && message !== '' ? message : String(error);
}
