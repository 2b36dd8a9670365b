import type { RollcallError } from '#rollcall/client';

/** A request that has no method in the client. It is sent once. */
export interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly url: string;
  readonly key: string | undefined;
  readonly namespace: string | undefined;
  readonly signal: AbortSignal;
  readonly body?: string | undefined;
}

/** Sends a request. It throws an error like those of the client if the server is away or rejects the request. */
export async function callApi({ method, path, url, key, namespace, signal, body }: RawRequest): Promise<string> {
  const { RollcallError: ApiError } = await import('#rollcall/client');
  let response: Response;
  try {
    response = await fetch(url + path, {
      method,
      signal,
      headers: {
        accept: 'application/json, application/problem+json, text/plain',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...(namespace !== undefined && { 'rollcall-namespace': namespace }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(method !== 'GET' && { 'idempotency-key': crypto.randomUUID() }),
      },
      ...(body !== undefined && { body }),
    });
  } catch (error) {
    signal.throwIfAborted();
    throw new ApiError('SERVER_UNREACHABLE', `${url} does not respond. Is Rollcall running there?`, { cause: error });
  }
  const text = await response.text();
  if (response.ok) return text;
  throw errorFor(response.status, text, ApiError);
}

function errorFor(status: number, text: string, ApiError: typeof RollcallError): RollcallError {
  const problem = parsed(text);
  const code = problem?.code ?? 'RESPONSE_UNREADABLE';
  return new ApiError(code, problem?.detail ?? `The response has status ${status}.`, { status, problem });
}

function parsed(text: string): RollcallError['problem'] {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined; // not JSON: the response of a proxy
  }
}
