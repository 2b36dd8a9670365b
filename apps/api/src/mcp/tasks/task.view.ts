import type { CallToolResult, ElicitRequestFormParams, ServerContext } from '@modelcontextprotocol/server';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import { textOfParts } from '#rollcall/providers';
import { capabilitiesIn, type McpCall, supportsTasks } from '../mcp.call.js';
import { type FollowUps, followUpsOf, toResult } from '../tools/run.result.js';

const POLL_EVERY_MS = 1_000;

interface McpTask {
  readonly taskId: string;
  readonly status: 'working' | 'input_required' | 'completed' | 'cancelled';
  readonly statusMessage: string;
  readonly createdAt: string;
  readonly lastUpdatedAt: string;
  readonly ttlMs: null;
  readonly pollIntervalMs: number;
}

interface InputRequest {
  readonly method: 'elicitation/create';
  readonly params: ElicitRequestFormParams;
}

/** A run that is not finished becomes a task if the client supports tasks. Otherwise, the result says how to continue. */
export function toOutcome(run: Run, call: McpCall, context: ServerContext): CallToolResult {
  if (!supportsTasks(context) || !continuesAsTask(run, context)) return toResult(run, followUpsOf(call));
  return { resultType: 'task', ...toMcpTask(run), content: [] };
}

/** If the client cannot ask its user, the question of the run is the result of the call. */
function continuesAsTask({ state }: Run, context: ServerContext): boolean {
  if (isFinal(state)) return false;
  return state !== 'waiting' || capabilitiesIn(context).elicitation !== undefined;
}

/** A failed run is a completed task whose result is an error. */
function toMcpTask({ id: taskId, state, waitingFor, createdAt, stateAt: lastUpdatedAt }: Run): McpTask {
  const about = { taskId, createdAt, lastUpdatedAt, ttlMs: null, pollIntervalMs: POLL_EVERY_MS };
  if (state === 'waiting')
    return { ...about, status: 'input_required', statusMessage: `The run waits for ${waitingFor ?? 'input'}.` };
  if (state === 'cancelled') return { ...about, status: 'cancelled', statusMessage: 'The run was cancelled.' };
  const status = isFinal(state) ? 'completed' : 'working';
  return { ...about, status, statusMessage: `The run is ${state}.` };
}

/** The task with its result, or with the questions of the run. */
export function toDetailedTask(run: Run, tools: FollowUps): McpTask & Record<string, unknown> {
  const task = toMcpTask(run);
  if (task.status === 'completed') return { ...task, result: toResult(run, tools) };
  return task.status === 'input_required' ? { ...task, inputRequests: inputRequests(run) } : { ...task };
}

/** Each question of a run has its own key, so that an answer always belongs to its question. */
function inputRequests(run: Run): Record<string, InputRequest> {
  if (run.waitingFor === 'input') return { [questionKey(run)]: question(textOfParts(run.result?.parts ?? [])) };
  const approvals = run.result?.approvals ?? [];
  return Object.fromEntries(
    approvals.map(({ callId, inputHash, tool, input }) => [
      approvalKey(callId, inputHash),
      approval(`Approve the call of ${tool} with ${JSON.stringify(input)}?`),
    ]),
  );
}

export function questionKey({ stateAt }: Run): string {
  return `question-${Date.parse(stateAt)}`;
}

export function approvalKey(callId: string, inputHash: string): string {
  return `approval-${callId}-${inputHash}`;
}

function question(text: string): InputRequest {
  const properties = { answer: { type: 'string', title: 'Answer' } } as const;
  return form(text, { type: 'object', properties, required: ['answer'] });
}

function approval(text: string): InputRequest {
  const properties = {
    approved: { type: 'boolean', title: 'Approve the call' },
    reason: { type: 'string', title: 'Reason' },
  } as const;
  return form(text, { type: 'object', properties, required: ['approved'] });
}

function form(message: string, requestedSchema: ElicitRequestFormParams['requestedSchema']): InputRequest {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } };
}
