import { randomUUID } from 'node:crypto';
import { Role, type SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk';
import { RuntimeError } from '#rollcall/agent-runtime';
import { textPart } from '#rollcall/providers';
import { EXTENSION } from './cards/agent.card.js';
import { messageOf } from './tasks/task.mapper.js';

/** The errors that reject a task before it begins: no agent can receive work, no amount can be reserved, or the agent is busy. */
const REFUSALS: ReadonlySet<string> = new Set(['RUN_TARGET_UNAVAILABLE', 'SPENDING_LIMIT_REACHED', 'AGENT_BUSY']);

export function isRefusal(error: unknown): error is RuntimeError {
  return error instanceof RuntimeError && REFUSALS.has(error.code);
}

/** The task of a message that was refused before work began. There is no run, so the task is not stored. */
export function rejectedTask(
  { code, message, retryAfterMs }: RuntimeError,
  { message: sent }: SendMessageRequest,
): Task {
  const id = randomUUID().replaceAll('-', '');
  const contextId = sent?.contextId || id;
  const place = { taskId: id, contextId };
  return {
    id,
    contextId,
    status: {
      state: TaskState.TASK_STATE_REJECTED,
      message: messageOf(`${id}-rejected`, { ...place, role: Role.ROLE_AGENT, parts: [textPart(message)] }),
      timestamp: new Date().toISOString(),
    },
    artifacts: [],
    history: sent ? [{ ...sent, ...place }] : [],
    metadata: { [EXTENSION]: { code, ...(retryAfterMs !== undefined && { retryAfterMs }) } },
  };
}
