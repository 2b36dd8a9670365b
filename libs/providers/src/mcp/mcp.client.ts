import type { CallToolResult, Client, ConnectOptions, PriorDiscovery, Tool } from '@modelcontextprotocol/client';
import { traceHeaders } from '../egress/trace.headers.js';
import { aborted, ProviderError } from '../errors.js';
import { redactDeep } from '../secrets/secret.js';
import { CallScope } from './call.scope.js';
import type { McpServerConfig } from './mcp.config.js';
import type { McpConnection, McpTransport } from './mcp.connection.js';
import type { ErrorSource } from './mcp.errors.js';

/** A tool as its server describes it. A third party wrote all of these texts, so they are not trusted. */
export interface McpToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** Whether the server says that a call may be repeated. */
  readonly isIdempotent?: boolean;
}

interface McpCallOptions {
  signal?: AbortSignal;
}

/** How one server is reached. */
export interface McpLink {
  createTransport(): Promise<McpTransport>;
  redact(text: string): string;
  /** Whether the server is a program, which is started for the connection. */
  readonly isProgram: boolean;
}

type RequestOptions = Pick<ConnectOptions, 'timeout' | 'signal'>;
type Work<Result> = (client: Client, limits: RequestOptions) => Promise<Result>;

const MAX_PAGES = 16;
const MAX_TOOLS = 500;

/**
 * Calls one MCP server. It connects at the first call, in the protocol of 2026 or of 2025, and again after the connection was lost.
 * Every call has a time limit and a size limit, and throws only ProviderErrors. `close` leaves no socket and no process.
 */
export class McpClient {
  private connecting?: Promise<McpConnection>;
  private readonly connections = new Set<McpConnection>();
  private prior?: PriorDiscovery;
  private closed = false;
  private readonly source: ErrorSource;

  constructor(
    readonly name: string,
    readonly config: McpServerConfig,
    private readonly link: McpLink,
  ) {
    this.source = { label: `MCP server ${name}`, redact: (text) => link.redact(text) };
  }

  /** Returns the tools of all pages. */
  async listTools({ signal }: McpCallOptions = {}): Promise<McpToolDefinition[]> {
    const tools = await this.call(signal, async (client, limits) => await this.pagesOf(client, limits));
    return (redactDeep(tools, this.source.redact) as Tool[]).map(
      ({ name, description = '', inputSchema, annotations }) => ({
        name,
        description,
        inputSchema,
        isIdempotent: annotations?.readOnlyHint === true || annotations?.idempotentHint === true,
      }),
    );
  }

  async callTool(
    { name, inputSchema }: Pick<McpToolDefinition, 'name' | 'inputSchema'>,
    input: Record<string, unknown>,
    { signal }: McpCallOptions = {},
  ): Promise<McpResult> {
    const toolDefinition = { name, inputSchema } as Tool;
    const trace = traceHeaders();
    const params = { name, arguments: input, ...(trace['traceparent'] !== undefined && { _meta: trace }) };
    const result = await this.call(
      signal,
      async (client, limits) => await client.callTool(params, { ...limits, toolDefinition }),
    );
    const { text, isError } = toMcpResult(result);
    return { text: this.source.redact(text), isError };
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.connecting?.catch(() => undefined); // a connection that failed needs no close
    await Promise.all([...this.connections].map(async (connection) => await connection.close()));
    this.connections.clear();
  }

  private async pagesOf(client: Client, limits: RequestOptions): Promise<Tool[]> {
    const tools: Tool[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const params = cursor === undefined ? {} : { cursor };
      const result = await client.request({ method: 'tools/list', params }, limits);
      tools.push(...result.tools);
      cursor = result.nextCursor;
      if (tools.length > MAX_TOOLS) break;
      if (cursor === undefined) return tools;
    }
    throw new ProviderError(
      'MCP_ANSWER_UNREADABLE',
      `${this.source.label} has more than ${MAX_TOOLS} tools or ${MAX_PAGES} pages of tools.`,
    );
  }

  private async call<Result>(signal: AbortSignal | undefined, work: Work<Result>, isRepeated = false): Promise<Result> {
    if (this.closed) throw this.closedError();
    if (signal?.aborted) throw aborted(`The call to ${this.source.label}`);
    const connection = await this.connected(signal);
    try {
      return await CallScope.run(signal, async (scope) => {
        try {
          const limits = { timeout: this.config.timeoutMs, signal: scope.signal };
          return await scope.result(connection.use(async (client) => await work(client, limits)));
        } catch (error) {
          const { isLostSession, toMcpError } = await import('./mcp.errors.js');
          if (isLostSession(error, connection)) throw error;
          throw this.explain(toMcpError(error, this.source, scope), scope, connection);
        }
      });
    } catch (error) {
      await this.retireAfter(error, connection);
      if (error instanceof ProviderError) throw error;
      if (isRepeated)
        throw new ProviderError(
          'MCP_SERVER_UNREACHABLE',
          `${this.source.label} ended two sessions in a row before it processed the call.`,
        );
      return await this.call(signal, work, true); // the server did not process the request of an unknown session
    }
  }

  private explain(error: ProviderError, scope: CallScope, connection: McpConnection): ProviderError {
    if (this.closed && !scope.isCancelled) return this.closedError();
    const ended = error.code === 'MCP_SERVER_UNREACHABLE' ? connection.failure : undefined;
    return ended ? this.redacted(ended) : error;
  }

  private redacted({ code, message, logDetail }: ProviderError): ProviderError {
    const { redact } = this.source;
    return new ProviderError(code, redact(message), { logDetail: logDetail && redact(logDetail) });
  }

  /** An error of a tool says nothing about the connection. After any other error the next call connects again. */
  private async retireAfter(error: unknown, connection: McpConnection): Promise<void> {
    const { code } = error as ProviderError;
    if (code === 'MCP_TOOL_FAILED' || code === 'CALL_ABORTED') return;
    if (code === 'MCP_TIMED_OUT' && !this.link.isProgram) return; // each request over HTTP is independent
    await connection.retire();
    this.connections.delete(connection);
  }

  /** Returns a usable connection, or opens one. Several calls share one attempt to connect, which a cancelled call does not end. */
  private async connected(signal: AbortSignal | undefined): Promise<McpConnection> {
    const current = [...this.connections].find(({ isUsable }) => isUsable);
    if (current) return current;
    this.connecting ??= this.connect().finally(() => void (this.connecting = undefined));
    return await untilCancelled(this.connecting, signal, this.source.label);
  }

  private async connect(): Promise<McpConnection> {
    const connection = await CallScope.run(undefined, async (scope) => {
      try {
        return await scope.result(this.negotiate());
      } catch (error) {
        const { toMcpError } = await import('./mcp.errors.js');
        throw toMcpError(error, this.source, scope);
      }
    });
    this.connections.add(connection);
    if (connection.isOldProtocol && this.link.isProgram) this.prior = { kind: 'legacy' };
    if (!this.closed) return connection;
    await connection.close();
    throw this.closedError();
  }

  private async negotiate(): Promise<McpConnection> {
    const transport = await this.link.createTransport();
    try {
      return await this.open(transport, this.prior);
    } catch (error) {
      const failure = 'failure' in transport ? transport.failure : undefined;
      if (!failure || this.prior || !this.link.isProgram) throw failure ? this.redacted(failure) : error;
      return await this.openOldProgram(failure);
    }
  }

  /** Some programs of the protocol of 2025 end when they receive a request of 2026. */
  private async openOldProgram(failure: ProviderError): Promise<McpConnection> {
    const transport = await this.link.createTransport();
    return await this.open(transport, { kind: 'legacy' }).catch(() => {
      throw this.redacted(failure);
    });
  }

  private async open(transport: McpTransport, prior: PriorDiscovery | undefined): Promise<McpConnection> {
    const { McpConnection } = await import('./mcp.connection.js');
    const { startTimeoutMs } = this.config;
    const probeMs = this.link.isProgram ? startTimeoutMs / 2 : startTimeoutMs;
    return await McpConnection.open({ transport, timeoutMs: startTimeoutMs, probeMs, ...(prior && { prior }) });
  }

  private closedError(): ProviderError {
    return new ProviderError('MCP_SERVER_UNREACHABLE', `The client of ${this.source.label} is closed.`, {
      retryable: false,
    });
  }
}

async function untilCancelled<Result>(
  result: Promise<Result>,
  signal: AbortSignal | undefined,
  label: string,
): Promise<Result> {
  if (!signal) return await result;
  const { promise, reject } = Promise.withResolvers<never>();
  const cancel = (): void => reject(aborted(`The call to ${label}`));
  signal.addEventListener('abort', cancel, { once: true });
  try {
    return await Promise.race([result, promise]);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** The result of a tool of an MCP server, as text for a model. */
interface McpResult {
  readonly text: string;
  /** Whether the tool reports that it failed. The text contains the reason. */
  readonly isError: boolean;
}

function toMcpResult({ content, structuredContent, isError }: CallToolResult): McpResult {
  const texts = content.map(toText).filter((text) => text !== '');
  const text =
    texts.length === 0 && structuredContent !== undefined ? JSON.stringify(structuredContent) : texts.join('\n');
  return { text, isError: isError === true };
}

function toText(part: CallToolResult['content'][number]): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'image':
    case 'audio':
      return `[${part.mimeType}: not shown]`;
    case 'resource_link':
      return `[link to ${part.name}: ${part.uri}]`;
    case 'resource':
      return 'text' in part.resource ? part.resource.text : `[${part.resource.uri}: not shown]`;
    default:
      return '[content of an unknown type: not shown]';
  }
}
