import { createMcpHandler, ProtocolError } from '@modelcontextprotocol/server';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { beginSse } from '../events/sse.response.js';
import { StreamConnections } from '../events/stream.connections.js';
import { becomeStream } from '../limits/concurrency.limiter.js';
import type { McpCall } from './mcp.call.js';
import { McpServers } from './mcp.servers.js';
import { McpStream } from './mcp.stream.js';
import { McpSubscriptions, type Subscription } from './mcp.subscriptions.js';

const STREAM = 'text/event-stream';

/** Serves one request with the SDK, and writes its response to the connection. */
@Injectable()
export class McpExchange {
  private readonly log = new Logger('mcp');

  constructor(
    private readonly servers: McpServers,
    private readonly subscriptions: McpSubscriptions,
    private readonly connections: StreamConnections,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async answer(reply: FastifyReply, call: McpCall): Promise<void> {
    try {
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
    const raw = beginSse(call.request, reply);
    if (!raw) return await body.cancel();
    const { buffer, slowAfter: slowAfterMs } = this.config.events;
    const onError = (error: unknown): void => this.report('mcp.stream_ended', call, error);
    const stream = new McpStream(raw, { buffer, slowAfterMs, close, onError, convert: subscription?.convert });
    raw.once('close', this.connections.add(call.caller, stream));
    subscription?.bus.attach(stream);
    await stream.copy(body);
  }

  private report(event: string, { request }: McpCall, error: unknown): void {
    this.log.debug({ event, requestId: request.id, err: error });
  }
}

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
