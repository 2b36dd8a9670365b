import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Permission } from '../../apps/api/src/auth/permissions.js';
import { withKey } from './a2a-client.js';

/** The protocol version 2026-07-28, and the versions of 2025, which begin with `initialize`. */
export type Era = '2026' | '2025';
export const ERAS: Era[] = ['2026', '2025'];

/** The permission that each tool requires, in the order in which the server lists the tools. */
export const TOOLS: Record<string, Permission> = {
  find_agents: 'agents:query',
  describe_agent: 'agents:read',
  run_agent: 'runs:start',
  get_run: 'runs:read',
  answer_run: 'runs:start',
  cancel_run: 'runs:start',
  get_budgets: 'budgets:read',
  create_agent: 'agents:spawn',
  list_agents: 'agents:read',
  shutdown_agent: 'agents:spawn',
};

export interface McpClientOptions {
  era?: Era;
  /** Extensions that the client declares. */
  extensions?: Record<string, Record<string, never>>;
}

/** The official client of MCP with a credential, connected to an endpoint. */
export async function mcpClient(url: string, key: string, options: McpClientOptions = {}): Promise<Client> {
  const { era = '2026', extensions } = options;
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    { versionNegotiation: { mode: era === '2026' ? 'auto' : 'legacy' }, capabilities: { extensions } },
  );
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: withKey(key) }));
  return client;
}

export type Facts = Record<string, unknown>;

/** The structured content of a result, and its texts. */
export function read(result: CallToolResult): { facts: Facts; text: string; isError: boolean } {
  const { content, structuredContent = {}, isError = false } = result;
  const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
  return { facts: structuredContent as Facts, text, isError };
}

/** Calls a tool and reads its result. */
export async function callTool(client: Client, name: string, input: Facts = {}): Promise<ReturnType<typeof read>> {
  return read(await client.callTool({ name, arguments: input }));
}

/** A request of the protocol of 2026 without the client, for input that the client does not send. */
export function rawRequest(method: string, params: Facts = {}): { body: Facts; headers: Record<string, string> } {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const name = params['name'] ?? params['uri'] ?? params['taskId'];
  return {
    body: { jsonrpc: '2.0', id: 1, method, params: { _meta, ...params } },
    headers: {
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
  };
}

/** The messages of a stream, without comments. */
export async function* messagesOf({ body }: Response): AsyncGenerator<Facts, void> {
  let rest = '';
  for await (const chunk of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6)) as Facts;
  }
}
