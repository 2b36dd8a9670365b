export interface ApiAnswer {
  status: number;
  body: Record<string, unknown>;
}

/** Sends valid requests with the admin key, to create the objects that the fuzzer needs. */
export class ApiClient {
  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  async call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<ApiAnswer> {
    try {
      const answer = await fetch(this.url + path, {
        method,
        headers: {
          ...headers,
          authorization: `Bearer ${this.key}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(10_000),
      });
      const text = await answer.text();
      return { status: answer.status, body: text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : {} };
    } catch {
      return { status: 0, body: {} }; // the server is busy or has exited; the fuzzer detects both
    }
  }
}
