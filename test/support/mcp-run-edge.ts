import type { Client, ContentBlock } from '@modelcontextprotocol/client';
import type { ContentPart } from '#rollcall/providers';
import { type Facts, mcpClient } from './mcp-client.js';
import { type Outcome, REGISTERED, type Refusal, type RunEdge } from './run-edges.js';

/** The tools of MCP for runs. */
export async function mcpEdge(url: string, key: string): Promise<RunEdge> {
  const client = await mcpClient(`${url}/mcp`, key);
  const use = async (name: string, input: Facts): Promise<Outcome | Refusal> => await call(client, name, input);
  const start = async (agent: string, { text, ...rest }: Parameters<RunEdge['run']>[1], waitMs: number) =>
    await use('run_agent', {
      ...(agent !== '' && { agent: agent.replace(REGISTERED, '') }),
      input: text,
      ...(rest as Facts),
      waitMs,
    });
  return {
    name: 'MCP',
    run: async (agent, work) => await start(agent, work, 50_000),
    begin: async (agent, work) => ((await start(agent, work, 0)) as Outcome).id,
    answer: async (_agent, runId, input) => (await use('answer_run', { runId, input, waitMs: 50_000 })) as Outcome,
    cancel: async (_agent, runId) => await use('cancel_run', { runId }),
  };
}

async function call(client: Client, name: string, input: Facts): Promise<Outcome | Refusal> {
  const { content, structuredContent = {} } = await client.callTool({ name, arguments: input });
  const { code, runId, state, usage, reason, error } = structuredContent as Facts;
  if (code !== undefined) return { status: 409, code };
  const says = state === 'completed' ? content : content.slice(0, -1); // the last text explains the state
  const facts = { ...(reason !== undefined && { reason }), ...(error !== undefined && { error }) };
  return { id: String(runId), state, says: says.map(toPart), usage, ...facts };
}

const FILENAME = 'rollcall/filename';

function toPart(block: ContentBlock): ContentPart {
  if (block.type === 'text') return { type: 'text', text: block.text };
  if (block.type === 'resource_link') return { type: 'file', url: block.uri, mediaType: block.mimeType ?? '' };
  if (block.type !== 'resource') return fileOf(block.data, block.mimeType, block._meta);
  const { resource } = block;
  if ('text' in resource) return { type: 'data', data: JSON.parse(resource.text) as unknown };
  return fileOf(resource.blob, resource.mimeType ?? '', resource._meta);
}

function fileOf(bytes: string, mediaType: string, meta: Facts = {}): ContentPart {
  const name = meta[FILENAME];
  return { type: 'file', bytes, mediaType, ...(typeof name === 'string' && { name }) };
}
