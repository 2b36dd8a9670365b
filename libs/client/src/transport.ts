import { pause, pauseBefore } from './pause.js';
import { isLostConnection, readError, RollcallError } from './rollcall.error.js';

/** `rejected` is the credential that the server no longer accepts. */
type CredentialSource = (rejected?: string) => string | Promise<string>;

/** Where Rollcall is, and how the client calls it. */
export interface RollcallOptions {
  /** The address of the server. Default: http://127.0.0.1:8080 */
  url?: string;
  /**
   * An API key, a JWT or a lease token, or a function that returns one. The result of the function is kept until the server rejects it with
   * 401; the function is then called once more with the rejected credential.
   */
  credential?: string | CredentialSource | undefined;
  /** The namespace of the calls, for a credential that has access to several. */
  namespace?: string;
  /** How long a call may take, including its repetitions. Default: 60 seconds. */
  timeoutMs?: number;
  /** How often a call is repeated at most. Default: 5. */
  retries?: number;
  /** Another implementation of `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
}

/** Options of each call. */
export interface CallOptions {
  /** Ends the call, also while it waits to be repeated. The call then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** How long the call may take, including its repetitions. */
  timeoutMs?: number;
  /** All repetitions of a changing call have the same key, and have one effect. Default: a random key for each call. */
  idempotencyKey?: string;
}

export interface ApiRequest {
  readonly method: string;
  /** The path with its query string. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** Options of a call that depends on the version of what it changes. */
export interface ConditionalCallOptions extends CallOptions {
  /** The change is made only if the object still has this `ETag`, such as `"3"`. */
  ifMatch?: string;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';
const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_RETRIES = 5;

/** An open response. `close` ends the connection. */
export interface OpenResponse {
  readonly response: Response;
  close(): void;
}

/**
 * Sends requests. A request is repeated only after 429, 503 or a lost connection, and the caller makes sure that its repetition is safe.
 * A call ends within its time limit, and at once when its signal is aborted.
 */
export class HttpTransport {
  /** The address of the server, without a slash at its end. */
  readonly base: string;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  private kept?: Promise<string>;

  constructor(private readonly options: RollcallOptions) {
    this.fetch = options.fetch ?? (async (url, init) => await fetch(url, init));
    this.base = (options.url ?? DEFAULT_URL).replace(/(?<!\/)\/+$/, '');
  }

  /** Returns what `read` returns for the response. */
  async call<T>(request: ApiRequest, options: CallOptions, read: (response: Response) => Promise<T>): Promise<T> {
    const limit = new CallLimit(options.timeoutMs ?? this.options.timeoutMs ?? DEFAULT_TIMEOUT_MS, options.signal);
    try {
      return await this.repeat(limit, async () => await read(await this.attempt(request, limit.signal)));
    } finally {
      limit.release();
    }
  }

  /** Returns the response without reading it. The time limit applies until the response begins. */
  async open(request: ApiRequest, options: CallOptions): Promise<OpenResponse> {
    const limit = new CallLimit(options.timeoutMs ?? this.options.timeoutMs ?? DEFAULT_TIMEOUT_MS, options.signal);
    try {
      const response = await this.repeat(limit, async () => await this.attempt(request, limit.signal));
      limit.endTime();
      return { response, close: () => limit.close() };
    } catch (error) {
      limit.release();
      throw error;
    }
  }

  private async repeat<T>(limit: CallLimit, attempt: () => Promise<T>): Promise<T> {
    const { retries = DEFAULT_RETRIES } = this.options;
    for (let count = 1; ; count += 1) {
      try {
        return await attempt();
      } catch (thrown) {
        if (limit.signal.aborted) throw limit.reasonAfter(thrown);
        const error = thrown instanceof RollcallError ? thrown : this.unreachable(thrown);
        if (count > retries || !isRepeated(error, count)) throw error;
        const ms = pauseBefore(count, error.retryAfterMs);
        if (ms > limit.remainingMs) throw error; // the repetition would come too late
        await pause(ms, limit.signal).catch(() => {
          throw limit.reasonAfter(error);
        });
      }
    }
  }

  private async attempt(request: ApiRequest, signal: AbortSignal): Promise<Response> {
    const credential = this.credential();
    const response = await this.send(request, await credential, signal);
    if (response.ok) return response;
    if (response.status === 401 && credential !== undefined && typeof this.options.credential === 'function') {
      await response.text();
      const renewed = await this.send(request, await this.renewed(credential), signal);
      if (renewed.ok) return renewed;
      throw await readError(renewed);
    }
    throw await readError(response);
  }

  private async send(request: ApiRequest, credential: string | undefined, signal: AbortSignal): Promise<Response> {
    const { method, path, body, headers } = request;
    const { namespace } = this.options;
    const init: RequestInit = {
      method,
      signal,
      headers: {
        ...headers,
        ...(credential !== undefined && { authorization: `Bearer ${credential}` }),
        ...(namespace !== undefined && { 'rollcall-namespace': namespace }),
      },
      ...(body !== undefined && { body }),
    };
    return await this.fetch(this.base + path, init);
  }

  private credential(): Promise<string> | undefined {
    const { credential } = this.options;
    if (typeof credential !== 'function') return credential === undefined ? undefined : Promise.resolve(credential);
    return (this.kept ??= this.keep(async () => await credential()));
  }

  /** Concurrent calls whose credential was rejected share one new credential. */
  private async renewed(rejected: Promise<string>): Promise<string> {
    const { credential } = this.options;
    if (this.kept === rejected && typeof credential === 'function')
      this.kept = this.keep(async () => await credential(await rejected));
    return (await this.kept) ?? (await rejected);
  }

  /** A credential that could not be fetched is fetched again by the next call. */
  private async keep(fetchCredential: () => Promise<string>): Promise<string> {
    try {
      return await fetchCredential();
    } catch (error) {
      delete this.kept;
      throw new CredentialError(error);
    }
  }

  private unreachable(cause: unknown): unknown {
    if (cause instanceof CredentialError) return cause.cause;
    const message = `${this.base} does not respond: ${networkReasonOf(cause)}. Is Rollcall running there?`;
    return new RollcallError('SERVER_UNREACHABLE', message, { cause });
  }
}

/** The function of the caller that returns credentials has failed. Its error is passed on unchanged. */
class CredentialError extends Error {
  constructor(override readonly cause: unknown) {
    super('no credential');
  }
}

/** The reason of a failed `fetch` is in the innermost cause. */
export function networkReasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return networkReasonOf(error.cause);
  return error.message || String((error as { code?: unknown }).code ?? error.name);
}

/** After a lost connection, the server may still execute the first attempt: it then rejects the repetition for a moment. */
function isRepeated(error: unknown, count: number): error is RollcallError {
  if (!(error instanceof RollcallError)) return false;
  if (error.code === 'IDEMPOTENCY_IN_PROGRESS') return count > 1;
  return error.status === 429 || error.status === 503 || isLostConnection(error);
}

/** Ends a call when its time is over, or when its caller aborts it. */
class CallLimit {
  private readonly controller = new AbortController();
  private readonly timer: ReturnType<typeof setTimeout>;
  private readonly endsAt: number;
  private readonly onAbort = (): void => this.controller.abort(this.caller?.reason);
  private isLate = false;

  constructor(
    private readonly ms: number,
    private readonly caller?: AbortSignal,
  ) {
    this.endsAt = performance.now() + ms;
    this.timer = setTimeout(() => {
      this.isLate = true;
      this.controller.abort();
    }, ms);
    if (caller?.aborted) this.onAbort();
    caller?.addEventListener('abort', this.onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  get remainingMs(): number {
    return this.endsAt - performance.now();
  }

  reasonAfter(last: unknown): unknown {
    if (!this.isLate) return this.signal.reason;
    const detail = last instanceof RollcallError ? ` The last attempt: ${last.message}` : '';
    return new RollcallError('CALL_TIMED_OUT', `The call took longer than ${this.ms} ms.${detail}`, { cause: last });
  }

  endTime(): void {
    clearTimeout(this.timer);
  }

  release(): void {
    this.endTime();
    this.caller?.removeEventListener('abort', this.onAbort);
  }

  close(): void {
    this.release();
    this.controller.abort();
  }
}
