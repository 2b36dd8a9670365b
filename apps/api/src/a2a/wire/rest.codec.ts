import {
  A2A_CONTENT_TYPE,
  ListTasksRequest,
  ListTasksResponse,
  SendMessageRequest,
  StreamResponse,
  Task,
} from '@a2a-js/sdk';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Address } from '../incoming.calls.js';
import { checkMessage } from '../messages/message.js';
import { fromProtoJson } from './proto.json.js';
import { tenantIn } from './rpc.request.js';

/** The three paths of each operation: for Rollcall itself, for one agent, and for an agent as the tenant of Rollcall. */
export const REST_PATHS = ['a2a', 'a2a/agents/:agentId', 'a2a/:tenant'];

/** The agent that a request of the HTTP+JSON binding addresses, as a parameter of a route. */
export const Addressed = createParamDecorator((_: unknown, context: ExecutionContext) =>
  addressOf(context.switchToHttp().getRequest<FastifyRequest>()),
);

function addressOf({ params, query, body }: FastifyRequest): Address {
  const { agentId, tenant } = params as Address;
  if (agentId !== undefined || tenant !== undefined) return { agentId, tenant };
  return tenantIn({ ...(query as object), ...(body as object | undefined) });
}

type Query = Readonly<Record<string, unknown>>;

export function reply200(reply: FastifyReply, body: unknown): void {
  void reply.type(A2A_CONTENT_TYPE).send(JSON.stringify(body));
}

/** The body of a message. The permission to send it and its meaning are read from the same value. */
export function sentIn({ body }: FastifyRequest): unknown {
  return fromProtoJson(body);
}

export function readSendMessage(sent: unknown): SendMessageRequest {
  checkMessage(sent);
  return SendMessageRequest.fromJSON(sent);
}

/** The fields of a ListTasks request are query parameters. */
export function readListTasks(query: Query): ListTasksRequest {
  const { pageSize, historyLength, includeArtifacts, status, ...texts } = fromProtoJson(query) as Query;
  return ListTasksRequest.fromJSON({
    ...texts,
    ...(status !== undefined && { status: toNumber(status) || status }),
    ...(pageSize !== undefined && { pageSize: toNumber(pageSize) }),
    ...(historyLength !== undefined && { historyLength: toNumber(historyLength) }),
    includeArtifacts: includeArtifacts === 'true',
  });
}

/** Text that is not a whole number becomes NaN, which the operations reject. */
export function toNumber(text: unknown): number | undefined {
  if (text === undefined) return undefined;
  return /^\d{1,9}$/.test(String(text)) ? Number(text) : NaN;
}

/** The codec leaves out default values, but a client needs all fields of a page. */
export function pageToJson(page: ListTasksResponse, includeArtifacts = false): object {
  const { nextPageToken, pageSize, totalSize } = page;
  const tasks = page.tasks.map((task) => {
    const json = Task.toJSON(task) as { artifacts?: unknown[] };
    if (includeArtifacts) json.artifacts ??= [];
    return json;
  });
  return { tasks, nextPageToken, pageSize, totalSize };
}

export async function* eventsToJson(
  events: AsyncGenerator<StreamResponse, void, undefined>,
): AsyncGenerator<object, void, undefined> {
  for await (const event of events) yield StreamResponse.toJSON(event) as object;
}
