import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type CallToolResult,
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Tool,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { LocalServer, type RecordedRequest } from './local-server.js';

type Answer = string | CallToolResult;

export interface FakeMcpTool {
  name: string;
  description?: string;
  inputSchema?: Record<string, unknown>;
  annotations?: Tool['annotations'];
  answer?: (input: Record<string, unknown>, signal: AbortSignal) => Answer | Promise<Answer>;
}

/** A server of the protocol of 2026, or a server of 2025 with sessions. Both use the official library. */
export type McpEra = '2025' | '2026';

const ANY_OBJECT = { type: 'object' };
const PAGE_SIZE = 2;

/** An MCP server on a free loopback port. Tests change its tools and its behaviour while it runs. */
export class FakeMcpServer {
  tools: FakeMcpTool[] = [
    { name: 'echo', description: 'Returns its input.', answer: (input) => JSON.stringify(input) },
  ];
  /** Replaces the answer to a request, if it returns true. */
  intercept: (request: RecordedRequest, response: ServerResponse) => boolean | Promise<boolean> = () => false;
  readonly calls: string[] = [];
  cancelled = 0;
  private readonly sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  private readonly modern = createMcpHandler(() => this.createServer(), { legacy: 'reject', keepAliveMs: 0 });
  private http!: LocalServer;

  private constructor(private readonly era: McpEra) {}

  static async start(era: McpEra): Promise<FakeMcpServer> {
    const server = new FakeMcpServer(era);
    server.http = await LocalServer.start(async (request, response) => await server.handle(request, response));
    return server;
  }

  get url(): string {
    return `${this.http.url}/mcp`;
  }

  get requests(): readonly RecordedRequest[] {
    return this.http.requests;
  }

  get busyConnections(): number {
    return this.http.busyConnections;
  }

  get openSessions(): number {
    return this.sessions.size;
  }

  /** Forgets all sessions, as a server does when it restarts. */
  forgetSessions(): void {
    this.sessions.clear();
  }

  async close(): Promise<void> {
    await this.modern.close();
    await this.http.close();
  }

  private async handle(record: RecordedRequest, response: ServerResponse): Promise<void> {
    if (await this.intercept(record, response)) return;
    const abort = new AbortController();
    response.once('close', () => abort.abort());
    const request = new Request(`${this.http.url}${record.path}`, {
      method: record.method,
      headers: Object.entries(record.headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(record.method === 'POST' && { body: JSON.stringify(record.body) }),
      signal: abort.signal,
    });
    const answer = this.era === '2026' ? await this.modern.fetch(request) : await this.answerOld(request, record);
    await write(answer, response).catch(() => undefined); // the client may have closed the connection
  }

  private async answerOld(request: Request, { body, headers }: RecordedRequest): Promise<Response> {
    const session = headers['mcp-session-id'];
    const known = this.sessions.get(String(session));
    if (known) return await known.handleRequest(request);
    const isStart = (body as { method?: string } | undefined)?.method === 'initialize';
    if (!isStart) return new Response('unknown session', { status: session === undefined ? 400 : 404 });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => void this.sessions.set(id, transport),
      onsessionclosed: (id) => void this.sessions.delete(id),
    });
    await this.createServer().connect(transport);
    return await transport.handleRequest(request);
  }

  private createServer(): McpServer {
    const mcp = new McpServer({ name: 'fake', version: '1' }, { capabilities: { tools: {} } });
    const { server } = mcp;
    server.setRequestHandler('tools/list', ({ params }) => this.page(Number(params?.cursor ?? 0)));
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const tool = this.tools.find(({ name }) => name === params.name);
      if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${params.name}`);
      this.calls.push(tool.name);
      mcpReq.signal.addEventListener('abort', () => void (this.cancelled += 1), { once: true });
      const answer = (await tool.answer?.(params.arguments ?? {}, mcpReq.signal)) ?? 'done';
      return typeof answer === 'string' ? { content: [{ type: 'text', text: answer }] } : answer;
    });
    return mcp;
  }

  private page(start: number): { tools: Tool[]; nextCursor?: string } {
    const end = start + PAGE_SIZE;
    const tools = this.tools
      .slice(start, end)
      .map(
        ({ name, description, inputSchema = ANY_OBJECT, annotations }) =>
          ({ name, description, inputSchema, annotations }) as Tool,
      );
    return { tools, ...(end < this.tools.length && { nextCursor: String(end) }) };
  }
}

async function write(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (!answer.body) return void response.end();
  response.flushHeaders();
  await pipeline(Readable.fromWeb(answer.body as never), response);
  if (!response.closed) await once(response, 'close');
}
