import { type Artifact, Message, Role, type StreamResponse, type Task, type TaskStatus } from '@a2a-js/sdk';
import { isFinal, type Run, type StoredStep } from '#rollcall/agent-runtime';
import { type ContentPart, textPart, toA2aParts } from '#rollcall/providers';
import { runFacts } from '../../runs/run.task.js';
import { EXTENSION } from '../cards/agent.card.js';
import { taskStateOf } from './task.state.js';

/** A task has at most one artifact: the answer of its run. */
const ARTIFACT = 'result';

export interface TaskOptions {
  /** How many of the newest messages the task contains. Absent: all messages. */
  readonly historyLength?: number;
  /** If false, the task has no artifacts. The default is true. */
  readonly includeArtifacts?: boolean;
}

/** `messages` are the messages of the caller. */
export function toTask(run: Run, messages: readonly StoredStep[], options: TaskOptions = {}): Task {
  const { historyLength, includeArtifacts = true } = options;
  const history = messages.map((stored) => toHistory(run, stored));
  return {
    id: run.id,
    contextId: run.conversationId,
    status: toStatus(run),
    artifacts: includeArtifacts ? artifactsOf(run) : [],
    history: historyLength === undefined ? history : history.slice(Math.max(0, history.length - historyLength)),
    metadata: factsOf(run),
  };
}

export function toStatus(run: Run): TaskStatus {
  const parts = explanationOf(run);
  const message = parts.length === 0 ? undefined : agentMessage(run, `${run.id}-${run.state}-${run.attempts}`, parts);
  return { state: taskStateOf(run), message, timestamp: run.stateAt };
}

export function statusUpdate(run: Run, status: TaskStatus = toStatus(run)): StreamResponse {
  const { id: taskId, conversationId: contextId } = run;
  return { payload: { $case: 'statusUpdate', value: { taskId, contextId, status, metadata: factsOf(run) } } };
}

/** The complete or partial answer of a finished run. While a run waits, the parts of its result are a question and belong to the status. */
export function artifactsOf({ state, result }: Run): Artifact[] {
  if (!isFinal(state) || state === 'refused' || !result || result.parts.length === 0) return [];
  return [artifact(result.parts)];
}

export function artifact(parts: readonly ContentPart[]): Artifact {
  return {
    artifactId: ARTIFACT,
    name: ARTIFACT,
    description: '',
    parts: toA2aParts(parts),
    metadata: undefined,
    extensions: [],
  };
}

/** The facts of the run that A2A has no field for. */
function factsOf(run: Run): Record<string, unknown> {
  return { [EXTENSION]: runFacts(run) };
}

export function agentMessage({ id, conversationId }: Run, messageId: string, parts: readonly ContentPart[]): Message {
  return messageOf(messageId, { taskId: id, contextId: conversationId, role: Role.ROLE_AGENT, parts });
}

interface MessageFacts {
  readonly taskId: string;
  readonly contextId: string;
  readonly role: Role;
  readonly parts: readonly ContentPart[];
}

export function messageOf(messageId: string, { taskId, contextId, role, parts }: MessageFacts): Message {
  return { ...Message.fromJSON({ messageId, taskId, contextId }), role, parts: toA2aParts(parts) };
}

function toHistory({ id, conversationId }: Run, { seq, step }: StoredStep): Message {
  const { parts, messageId = `${id}-${seq}` } = step.type === 'message' ? step : { parts: [] };
  return messageOf(messageId, { taskId: id, contextId: conversationId, role: Role.ROLE_USER, parts });
}

/** Why the run waits, was refused, failed or was stopped. */
function explanationOf({ state, waitingFor, result }: Run): readonly ContentPart[] {
  if (!result) return [];
  const { parts, detail, error, approvals = [] } = result;
  if (state === 'refused' || waitingFor === 'input') return parts;
  if (state === 'waiting') return [...parts, textPart(detail ?? APPROVAL), { type: 'data', data: { approvals } }];
  if (state === 'failed') return [textPart(error?.message ?? 'The run failed.')];
  return state === 'stopped' ? [textPart(detail ?? 'The run was stopped.')] : [];
}

const APPROVAL =
  'The calls in `approvals` need an approval. Answer with a data part {"decision": {"callId", "inputHash", "approved"}}.';
