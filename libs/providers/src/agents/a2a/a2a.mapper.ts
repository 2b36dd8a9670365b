import { Message, TaskState, type Part, type SendMessageRequest } from '@a2a-js/sdk';
import type { AgentMessage, AgentResult, HandleOptions } from '../agent.js';

/** Converts a message to A2A; `task.reader.ts` converts the responses. */
export function toSendMessage({ text, data }: AgentMessage, options: HandleOptions): SendMessageRequest {
  const message = Message.fromJSON({
    messageId: options.callId ?? crypto.randomUUID(),
    ...fromConversation(options.conversationId),
    role: 'ROLE_USER',
    parts: [
      { text, mediaType: 'text/plain' },
      ...(data === undefined ? [] : [{ data, mediaType: 'application/json' }]),
    ],
    ...(options.budget && { metadata: { budget: options.budget } }),
  });
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

/**
 * A task that needs input continues only if the next message contains its id, so the id of a conversation includes the id of
 * its open task.
 */
export function toConversation(contextId: string, outcome: AgentResult['outcome'], taskId = ''): string {
  return outcome === 'completed' ? contextId : `${contextId}${TASK_SEPARATOR}${taskId}`;
}

function fromConversation(conversationId = ''): { contextId?: string; taskId?: string } {
  const [contextId, taskId] = conversationId.split(TASK_SEPARATOR);
  return { ...(contextId && { contextId }), ...(taskId && { taskId }) };
}

const TASK_SEPARATOR = '#task=';

export function textOf(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
}

export function dataOf(parts: readonly Part[] = []): unknown[] {
  return parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value] : []));
}

/** Maps A2A task states to the phases that a caller distinguishes. */
export function phaseOf(state = TaskState.TASK_STATE_UNSPECIFIED): TaskPhase {
  return PHASES[state];
}

export type TaskPhase = 'working' | 'completed' | 'input-required' | 'failed' | 'rejected' | 'cancelled';

const PHASES: Record<TaskState, TaskPhase> = {
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'input-required',
  [TaskState.TASK_STATE_AUTH_REQUIRED]: 'input-required',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_REJECTED]: 'rejected',
  [TaskState.TASK_STATE_CANCELED]: 'cancelled',
  [TaskState.TASK_STATE_SUBMITTED]: 'working',
  [TaskState.TASK_STATE_WORKING]: 'working',
  [TaskState.TASK_STATE_UNSPECIFIED]: 'working',
  [TaskState.UNRECOGNIZED]: 'working',
};
