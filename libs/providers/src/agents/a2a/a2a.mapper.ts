import { Message, TaskState, type Part, type SendMessageRequest } from '@a2a-js/sdk';
import type { AgentMessage, AgentResult, HandleOptions } from '../agent.js';

/** Where our words become those of A2A. The way back is task.reader.ts; beyond these two, nobody knows of tasks. */
export function toSendMessage({ text, data }: AgentMessage, options: HandleOptions): SendMessageRequest {
  const message = Message.fromJSON({
    messageId: options.callId ?? crypto.randomUUID(),
    ...placeOf(options.conversationId),
    role: 'ROLE_USER',
    parts: [
      { text, mediaType: 'text/plain' },
      ...(data === undefined ? [] : [{ data, mediaType: 'application/json' }]),
    ],
    ...(options.budget && { metadata: { budget: options.budget } }),
  });
  return { tenant: '', message, configuration: undefined, metadata: undefined };
}

/** A task that asks back goes on only if the answer names it, so a conversation remembers its open task. */
export function toConversation(contextId: string, outcome: AgentResult['outcome'], taskId = ''): string {
  return outcome === 'completed' ? contextId : `${contextId}${TASK_MARK}${taskId}`;
}

function placeOf(conversationId = ''): { contextId?: string; taskId?: string } {
  const [contextId, taskId] = conversationId.split(TASK_MARK);
  return { ...(contextId && { contextId }), ...(taskId && { taskId }) };
}

const TASK_MARK = '#task=';

export function textOf(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
}

export function dataOf(parts: readonly Part[] = []): unknown[] {
  return parts.flatMap(({ content }) => (content?.$case === 'data' ? [content.value] : []));
}

/** How a task stands, in the few ways that make a difference to a caller. */
export function standingOf(state = TaskState.TASK_STATE_UNSPECIFIED): Standing {
  return STANDINGS[state];
}

export type Standing = 'at work' | 'completed' | 'asks' | 'failed' | 'declined' | 'cancelled';

const STANDINGS: Record<TaskState, Standing> = {
  [TaskState.TASK_STATE_COMPLETED]: 'completed',
  [TaskState.TASK_STATE_INPUT_REQUIRED]: 'asks',
  [TaskState.TASK_STATE_AUTH_REQUIRED]: 'asks',
  [TaskState.TASK_STATE_FAILED]: 'failed',
  [TaskState.TASK_STATE_REJECTED]: 'declined',
  [TaskState.TASK_STATE_CANCELED]: 'cancelled',
  [TaskState.TASK_STATE_SUBMITTED]: 'at work',
  [TaskState.TASK_STATE_WORKING]: 'at work',
  [TaskState.TASK_STATE_UNSPECIFIED]: 'at work',
  [TaskState.UNRECOGNIZED]: 'at work',
};
