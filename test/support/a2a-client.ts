import { type Message, SendMessageRequest, type StreamResponse, type Task } from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';
import type { Permission } from '../../apps/api/src/auth/permissions.js';

/** The permission that each operation requires. */
export const METHODS: Record<string, Permission> = {
  SendMessage: 'runs:start',
  SendStreamingMessage: 'runs:start',
  GetTask: 'runs:read',
  ListTasks: 'runs:read',
  CancelTask: 'runs:start',
  SubscribeToTask: 'runs:read',
  CreateTaskPushNotificationConfig: 'runs:start',
  GetTaskPushNotificationConfig: 'runs:read',
  ListTaskPushNotificationConfigs: 'runs:read',
  DeleteTaskPushNotificationConfig: 'runs:start',
  GetExtendedAgentCard: 'agents:read',
};

export type Binding = 'JSONRPC' | 'HTTP+JSON';
export const BINDINGS: Binding[] = ['JSONRPC', 'HTTP+JSON'];

/** The official client of A2A with a credential. `url` is the URL of an agent. */
export async function a2aClient(url: string, key: string, binding: Binding): Promise<Client> {
  const fetchImpl = withKey(key);
  const transports = [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })];
  const factory = new ClientFactory({
    transports: transports.filter(({ protocolName }) => protocolName === binding),
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  });
  return await factory.createFromUrl(`${url}/`); // without the slash, the resolver replaces the last part of the path
}

export function withKey(key: string): typeof fetch {
  return async (input, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${key}`);
    return await fetch(input, { ...init, headers });
  };
}

export type Sent = Partial<Pick<Message, 'messageId' | 'contextId' | 'taskId' | 'metadata'>> & {
  parts?: readonly object[];
  configuration?: object;
};

/** A message with one text. The second argument adds or replaces fields. */
export function messageTo(
  text: string,
  { parts = [{ text }], configuration, ...about }: Sent = {},
): SendMessageRequest {
  return SendMessageRequest.fromJSON({
    message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, ...about },
    ...(configuration && { configuration }),
  });
}

/** The response to a message, which is always a task. */
export async function send(client: Client, request: SendMessageRequest): Promise<Task> {
  const result = await client.sendMessage(request);
  if ('messageId' in result) throw new Error('the response is a message');
  return result;
}

export function textOf(task: Pick<Task, 'artifacts'>): string {
  return task.artifacts.flatMap(({ parts }) => parts.map(({ content }) => String(content?.value))).join('');
}

export async function collect(events: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const all: StreamResponse[] = [];
  for await (const event of events) all.push(event);
  return all;
}
