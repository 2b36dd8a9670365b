import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/server';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import { type ContentPart, dataOfParts, textOfParts } from '#rollcall/providers';
import { JSON_MEDIA_TYPE } from '../../http/body/json-body.parser.js';
import { runFacts } from '../../runs/run.task.js';
import type { McpCall } from '../mcp.call.js';

/** The key of the file name in `_meta`, because images, sounds and embedded resources have no field for it. */
const FILENAME = 'rollcall/filename';

const MAX_NAME = 64;

/** The names of the tools that continue a run. */
export interface FollowUps {
  /** The tool that waits for the result. */
  readonly get: string;
  /** The tool that answers questions. */
  readonly answer: string;
}

/** At the address of one agent, the tool of this agent both waits for results and answers questions. */
export function followUpsOf({ agent }: McpCall): FollowUps {
  if (!agent) return { get: 'get_run', answer: 'answer_run' };
  const name = toolName(agent.agentId);
  return { get: name, answer: name };
}

/** MCP allows fewer characters in the name of a tool than Rollcall allows in an agentId. */
export function toolName(agentId: string): string {
  return agentId.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, MAX_NAME);
}

/**
 * The result of a tool call that concerns a run: the parts of the answer, and facts for programs. If the run is not completed, a text
 * says why, and how to continue.
 */
export function toResult(run: Run, tools: FollowUps): CallToolResult {
  const { id, state, result } = run;
  const next = nextOf(run, tools);
  const explanation = [explanationOf(run), next].filter((text) => text !== undefined).join(' ');
  const texts: ContentBlock[] = explanation === '' ? [] : [{ type: 'text', text: explanation }];
  return {
    content: [...toContent(id, result?.parts ?? []), ...texts],
    structuredContent: { ...answerOf(result?.parts ?? []), ...factsOf(run), ...(next !== undefined && { next }) },
    ...(isFinal(state) && state !== 'completed' && { isError: true }),
  };
}

/** The texts and the data of the answer, for clients that read no content. Files are only in the content. */
function answerOf(parts: readonly ContentPart[]): Record<string, unknown> {
  const [text, data] = [textOfParts(parts), dataOfParts(parts)];
  return { ...(text !== '' && { text }), ...(data.length > 0 && { data }) };
}

/** The facts that programs need. */
function factsOf(run: Run): Record<string, unknown> {
  const { id: runId, agentId, conversationId } = run;
  return { runId, agentId, conversationId, ...runFacts(run) };
}

function explanationOf({ id, state, waitingFor, result }: Run): string | undefined {
  const { detail, error, approvals = [] } = result ?? {};
  if (state === 'completed') return undefined;
  if (waitingFor === 'input') return `The run ${id} asks you the question above.`;
  if (state === 'waiting') return `The run ${id} needs a decision about these calls: ${JSON.stringify(approvals)}.`;
  if (state === 'failed') return `${error?.code ?? 'FAILED'}: ${error?.message ?? 'The run failed.'}`;
  if (state === 'stopped') return detail ?? 'The run was stopped.';
  return `The run ${id} is ${state}.`;
}

/** Tells a model how to continue a run that is not finished. */
function nextOf({ id, state, waitingFor }: Run, { get, answer }: FollowUps): string | undefined {
  if (isFinal(state)) return undefined;
  const run = `"runId": "${id}"`;
  if (state !== 'waiting') return `To wait for its result, call ${get} with {${run}}.`;
  if (waitingFor === 'input') return `To answer, call ${answer} with {${run}, "input": "…"}.`;
  const decision = '"decision": {"callId": "…", "inputHash": "…", "approved": true or false}';
  return `Ask a human, then call ${answer} with {${run}, ${decision}}.`;
}

/** Converts the parts of an answer. Each file keeps its bytes, its media type and its name. */
function toContent(runId: string, parts: readonly ContentPart[]): ContentBlock[] {
  return parts.map((part, index) => toBlock(part, `rollcall://runs/${runId}/parts/${index + 1}`));
}

function toBlock(part: ContentPart, uri: string): ContentBlock {
  if (part.type === 'text') return { type: 'text', text: part.text };
  if (part.type === 'data') {
    const { data, mediaType: mimeType = JSON_MEDIA_TYPE } = part;
    return { type: 'resource', resource: { uri, mimeType, text: JSON.stringify(data) } };
  }
  const { mediaType: mimeType, name } = part;
  if ('url' in part) return { type: 'resource_link', uri: part.url, name: name ?? part.url, mimeType };
  const named = name === undefined ? {} : { _meta: { [FILENAME]: name } };
  const { bytes } = part;
  if (mimeType.startsWith('image/')) return { type: 'image', data: bytes, mimeType, ...named };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data: bytes, mimeType, ...named };
  return { type: 'resource', resource: { uri, mimeType, blob: bytes, ...named } };
}
