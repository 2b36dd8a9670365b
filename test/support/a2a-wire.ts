import type { Binding } from './a2a-client.js';

export type Json = Record<string, unknown>;

/** The response to an operation, in the same form for both bindings. */
export interface WireAnswer {
  status: number;
  headers: Headers;
  result?: Json;
  /** `code` is the code of JSON-RPC, or the HTTP status. */
  error?: { code: number; message: string; info?: Json };
  /** The events of a stream. */
  events: Json[];
}

interface RestRoute {
  method: 'GET' | 'POST' | 'DELETE';
  path: (params: Json) => string;
  /** The parameters that are in the path. */
  named?: readonly string[];
}

const CONFIGS = ({ taskId }: Json): string => `/tasks/${String(taskId)}/pushNotificationConfigs`;
const ROUTES: Record<string, RestRoute> = {
  SendMessage: { method: 'POST', path: () => '/message:send' },
  SendStreamingMessage: { method: 'POST', path: () => '/message:stream' },
  GetTask: { method: 'GET', path: ({ id }) => `/tasks/${String(id)}`, named: ['id'] },
  ListTasks: { method: 'GET', path: () => '/tasks' },
  CancelTask: { method: 'POST', path: ({ id }) => `/tasks/${String(id)}:cancel`, named: ['id'] },
  SubscribeToTask: { method: 'GET', path: ({ id }) => `/tasks/${String(id)}:subscribe`, named: ['id'] },
  CreateTaskPushNotificationConfig: { method: 'POST', path: CONFIGS, named: ['taskId'] },
  GetTaskPushNotificationConfig: {
    method: 'GET',
    path: (params) => `${CONFIGS(params)}/${String(params['id'])}`,
    named: ['taskId', 'id'],
  },
  ListTaskPushNotificationConfigs: { method: 'GET', path: CONFIGS, named: ['taskId'] },
  DeleteTaskPushNotificationConfig: {
    method: 'DELETE',
    path: (params) => `${CONFIGS(params)}/${String(params['id'])}`,
    named: ['taskId', 'id'],
  },
  GetExtendedAgentCard: { method: 'GET', path: () => '/extendedAgentCard' },
};

/** Sends the operations of A2A as plain requests, so that a test sees exactly what is on the wire. */
export class A2aWire {
  constructor(
    readonly binding: Binding,
    private readonly url: string,
    private readonly key: string,
  ) {}

  async call(operation: string, params: Json = {}, headers: Record<string, string> = {}): Promise<WireAnswer> {
    return this.binding === 'JSONRPC'
      ? await this.rpc(JSON.stringify({ jsonrpc: '2.0', id: 'id-1', method: operation, params }), headers)
      : await this.rest(operation, params, headers);
  }

  /** The response of JSON-RPC, whose events the caller reads while they arrive. */
  async stream(operation: string, params: Json): Promise<Response> {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'id-1', method: operation, params });
    return await this.send(this.url, { method: 'POST', body });
  }

  /** A request of JSON-RPC with any body. */
  async rpc(body: string, headers: Record<string, string> = {}): Promise<WireAnswer> {
    const response = await this.send(this.url, { method: 'POST', body, headers });
    return await answerOf(response, ({ result, error }) => {
      const { code, message, data } = (error ?? {}) as { code: number; message: string; data?: Json[] };
      return error ? { error: { code, message, info: data?.[0] } } : { result: result as Json };
    });
  }

  private async rest(operation: string, params: Json, headers: Record<string, string>): Promise<WireAnswer> {
    const { method, path, named = [] } = ROUTES[operation];
    const rest = Object.fromEntries(Object.entries(params).filter(([name]) => !named.includes(name)));
    const hasBody = method === 'POST';
    const query = hasBody ? '' : `?${new URLSearchParams(rest as Record<string, string>).toString()}`;
    const init = { method, headers, ...(hasBody && { body: JSON.stringify(rest) }) };
    const response = await this.send(this.url + path(params) + query, init);
    return await answerOf(response, (body) => {
      const { code, message, details } = (body['error'] ?? {}) as { code: number; message: string; details?: Json[] };
      return body['error'] ? { error: { code, message, info: details?.[0] } } : { result: body };
    });
  }

  private async send(url: string, init: RequestInit): Promise<Response> {
    const type = this.binding === 'JSONRPC' ? 'application/json' : 'application/a2a+json';
    const own = {
      authorization: `Bearer ${this.key}`,
      'a2a-version': '1.0',
      ...(init.body && { 'content-type': type }),
    };
    return await fetch(url, { ...init, headers: { ...own, ...(init.headers as Record<string, string>) } });
  }
}

type Read = (body: Json) => Pick<WireAnswer, 'result' | 'error'>;

async function answerOf(response: Response, read: Read): Promise<WireAnswer> {
  const { status, headers } = response;
  const text = await response.text();
  if (headers.get('content-type')?.includes('text/event-stream')) {
    const lines = text.split('\n').filter((line) => line.startsWith('data: '));
    const bodies = lines.map((line) => read(JSON.parse(line.slice('data: '.length)) as Json));
    return { status, headers, events: bodies.map(({ result, error }) => result ?? { error }) };
  }
  return { status, headers, events: [], ...(text === '' ? {} : read(JSON.parse(text) as Json)) };
}
