import { createMcpHandler, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { InFlight } from '../http/server/in-flight.js';
import { becomeStream } from '../limits/concurrency.limiter.js';
import { SseStreams, type SseWriter } from '../streams/sse.writer.js';
import { McpAgents } from './mcp.agents.js';
import { callOf, type McpCall } from './mcp.call.js';
import { McpServers } from './mcp.servers.js';
import { McpSubscriptions, type Subscription } from './mcp.subscriptions.js';
import { McpTools } from './tools/mcp.tools.js';
import { callerOf } from '../auth/principal.js';

const STREAM = 'text/event-stream';
/** Longer than every method, and every name that a request can find. */
const MAX_NAME = 2_048;

interface Accepted {
  readonly subscription?: Subscription;
  /** The request is a subscription, and there is no place for it. */
  readonly isFull: boolean;
}

interface Streamed {
  readonly body: ReadableStream<Uint8Array>;
  readonly subscription?: Subscription;
  readonly close: () => Promise<void>;
}

interface McpStreamOptions {
  /** Closes the handler of the SDK, which ends the stream. */
  readonly close: () => Promise<void>;
  /** Receives the error that ended the stream. */
  readonly onError: (error: unknown) => void;
  /** Changes a message before it is sent. */
  readonly convert?: (message: string) => Promise<string>;
}

/**
 * Copies a stream of the SDK to the connection, at the pace of the client. The SDK formats the events and returns them as the body of
 * a web response. The stream ends when the handler of the SDK is closed. It cannot be resumed: a client sends its request again.
 */
export class McpStream {
  constructor(
    private readonly writer: SseWriter,
    private readonly options: McpStreamOptions,
  ) {
    writer.attach({ onEnd: () => void options.close() });
  }

  /** Never rejects: if a message cannot be converted, the stream ends, and the client subscribes again. */
  async copy(chunks: ReadableStream<Uint8Array>): Promise<void> {
    const { convert, onError, close } = this.options;
    const decoder = new TextDecoder();
    try {
      for await (const chunk of chunks) {
        if (!(await this.writer.send(convert ? await convert(decoder.decode(chunk)) : chunk))) return;
      }
    } catch (error) {
      onError(error);
      void close();
    }
    this.writer.finish();
  }
}

/** Serves one request with the SDK, and writes its response to the connection. */
@Injectable()
export class McpExchange {
  private readonly log = new Logger('mcp');

  constructor(
    private readonly agents: McpAgents,
    private readonly tools: McpTools,
    private readonly servers: McpServers,
    private readonly subscriptions: McpSubscriptions,
    private readonly sse: SseStreams,
    private readonly inFlight: InFlight,
  ) {}

  /** `agentId` is the agent in the path. */
  async answer(reply: FastifyReply, agentId: string | undefined): Promise<void> {
    const { request } = reply;
    const agent = agentId === undefined ? undefined : await this.agents.get(callerOf(request).namespace, agentId);
    const call = callOf(reply, agent);
    try {
      checkNames(request.body);
      const name = calledTool(request.body);
      if (name !== undefined) {
        this.tools.check(call, name);
        this.inFlight.exempt(reply); // a tool call waits for its run, and has its own time limit
      }
      await this.serve(reply, call, await this.subscriptions.prepare(call));
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      const { id = null } = (call.request.body ?? {}) as { id?: unknown };
      void reply.code(400).send({ jsonrpc: '2.0', id, error: { code, message, data } });
    }
  }

  private async serve(reply: FastifyReply, call: McpCall, subscription?: Subscription): Promise<void> {
    if (subscription) becomeStream(reply);
    const release = subscription && this.subscriptions.reserve();
    try {
      await this.execute(reply, call, { subscription, isFull: subscription !== undefined && !release });
    } finally {
      release?.();
    }
  }

  private async execute(reply: FastifyReply, call: McpCall, { subscription, isFull }: Accepted): Promise<void> {
    const handler = createMcpHandler(({ era }) => this.servers.create(call, era), {
      bus: subscription?.bus,
      maxSubscriptions: isFull ? 0 : 1,
      keepAliveMs: 0, // the connections send their own keep-alive messages
      onerror: (error) => this.report('mcp.rejected', call, error),
    });
    const body = subscription ? subscription.body : call.request.body;
    const response = await handler.fetch(toWebRequest(call), body === undefined ? {} : { parsedBody: body });
    if (!response.headers.get('content-type')?.startsWith(STREAM) || !response.body)
      return void reply
        .code(response.status)
        .headers(headersOf(response))
        .send(await response.text());
    const close = async (): Promise<void> => await handler.close();
    await this.stream(reply, call, { body: response.body, subscription, close });
  }

  private async stream(reply: FastifyReply, call: McpCall, { body, subscription, close }: Streamed): Promise<void> {
    const writer = this.sse.open(reply);
    if (!writer) return await body.cancel();
    const onError = (error: unknown): void => this.report('mcp.stream_ended', call, error);
    const stream = new McpStream(writer, { close, onError, convert: subscription?.convert });
    subscription?.bus.attach(writer);
    await stream.copy(body);
  }

  private report(event: string, { request }: McpCall, error: unknown): void {
    this.log.debug({ event, requestId: request.id, err: error });
  }
}

/** The errors of the SDK quote these names, so a long one would be returned several times. */
function checkNames(body: unknown): void {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: Record<string, unknown> };
  const names = { method, name: params?.['name'], uri: params?.['uri'], taskId: params?.['taskId'] };
  for (const [field, value] of Object.entries(names))
    if (typeof value === 'string' && value.length > MAX_NAME)
      throw new ProtocolError(ProtocolErrorCode.InvalidRequest, `${field} must have at most ${MAX_NAME} characters.`);
}

function calledTool(body: unknown): unknown {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } };
  return method === 'tools/call' ? params?.name : undefined;
}

/** Creates the request without its body, which is already parsed. */
function toWebRequest({ request, signal }: McpCall): Request {
  return new Request(`http://localhost${request.url}`, { method: 'POST', headers: toHeaders(request), signal });
}

function toHeaders({ headers }: FastifyRequest): Headers {
  const all = Object.entries(headers).filter((header): header is [string, string] => typeof header[1] === 'string');
  return new Headers(all);
}

function headersOf({ headers }: Response): Record<string, string> {
  const type = headers.get('content-type');
  const allow = headers.get('allow');
  return { ...(type !== null && { 'content-type': type }), ...(allow !== null && { allow }) };
}
