import { Message, Part, type SendMessageRequest, TaskState } from '@a2a-js/sdk';
import type { AgentMessage, AgentResult, HandleOptions } from '../agent.js';
import type { ContentPart } from '../content.part.js';
import { toWireContext } from '../wire/wire.message.js';

/** The default media type of data. It is added to data that is sent without a media type, and removed from received data. */
const JSON_TYPE = 'application/json';

/** Converts a message to A2A; `task.reader.ts` converts the responses. */
export function toSendMessage({ parts, a2a = {} }: AgentMessage, options: HandleOptions): SendMessageRequest {
  const { callId, conversationId, contextId, budget, context } = options;
  const { referenceTaskIds, extensions } = a2a;
  const metadata = { ...a2a.metadata, ...(budget && { budget }), ...(context && { context: toWireContext(context) }) };
  const message = Message.fromJSON({
    messageId: callId ?? crypto.randomUUID(),
    ...(conversationId === undefined ? contextId && { contextId } : fromConversation(conversationId)),
    role: 'ROLE_USER',
    ...(Object.keys(metadata).length > 0 && { metadata }),
    ...(referenceTaskIds && { referenceTaskIds }),
    ...(extensions && { extensions }),
  });
  return {
    tenant: '',
    message: { ...message, parts: toA2aParts(parts) },
    configuration: undefined,
    metadata: undefined,
  };
}

export function toA2aParts(parts: readonly ContentPart[]): Part[] {
  return parts.map(toA2aPart);
}

function toA2aPart(part: ContentPart): Part {
  if (part.type === 'text') return Part.fromJSON({ text: part.text, mediaType: 'text/plain' });
  const { mediaType = JSON_TYPE } = part;
  if (part.type === 'data') return Part.fromJSON({ data: part.data, mediaType });
  const about = { mediaType, filename: part.name ?? '' };
  return Part.fromJSON('bytes' in part ? { raw: part.bytes, ...about } : { url: part.url, ...about });
}

/** Converts A2A parts. A part without content, which a later protocol version may define, is ignored. */
export function fromA2aParts(parts: readonly Part[] = []): ContentPart[] {
  return parts.flatMap((part) => toPart(part) ?? []);
}

function toPart({ content, mediaType, filename }: Part): ContentPart | undefined {
  if (content === undefined) return undefined;
  if (content.$case === 'text') return { type: 'text', text: content.value };
  if (content.$case === 'data')
    return { type: 'data', data: content.value as unknown, ...(mediaType && mediaType !== JSON_TYPE && { mediaType }) };
  const about = { mediaType: mediaType || 'application/octet-stream', ...(filename && { name: filename }) };
  if (content.$case === 'url') return { type: 'file', url: content.value, ...about };
  return { type: 'file', bytes: Buffer.from(content.value).toString('base64'), ...about };
}

/**
 * A task that needs input continues only if the next message contains its id, so the id of a conversation includes the id of
 * its open task.
 */
export function toConversation(contextId: string, outcome: AgentResult['outcome'], taskId = ''): string {
  return outcome === 'input-required' ? `${contextId}${TASK_SEPARATOR}${taskId}` : contextId;
}

function fromConversation(conversationId = ''): { contextId?: string; taskId?: string } {
  const [contextId, taskId] = conversationId.split(TASK_SEPARATOR);
  return { ...(contextId && { contextId }), ...(taskId && { taskId }) };
}

const TASK_SEPARATOR = '#task=';

/** Maps A2A task states to the phases that a caller distinguishes. */
export function phaseOf(state = TaskState.TASK_STATE_UNSPECIFIED): TaskPhase {
  return PHASES[state];
}

type TaskPhase = 'working' | 'completed' | 'input-required' | 'auth-required' | 'failed' | 'rejected' | 'cancelled';

const PHASES: Record<TaskState, TaskPhase> = {
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'input-required',
  [TaskState.TASK_STATE_AUTH_REQUIRED]: 'auth-required',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_CANCELED]: 'cancelled',
  [TaskState.TASK_STATE_SUBMITTED]: 'working',
  [TaskState.TASK_STATE_WORKING]: 'working',
  [TaskState.TASK_STATE_UNSPECIFIED]: 'working',
  [TaskState.UNRECOGNIZED]: 'working',
};
