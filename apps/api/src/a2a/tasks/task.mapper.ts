import { isUtf8 } from 'node:buffer';
import {
  type Artifact,
  Message,
  Role,
  type StreamResponse,
  type Task,
  TaskState,
  taskStateToJSON,
  type TaskStatus,
} from '@a2a-js/sdk';
import {
  type ChangeFilter,
  type FileContent,
  isFinal,
  type Run,
  type RunStatus,
  type RunSummary,
  type StoredStep,
  type WaitingFor,
} from '#rollcall/agent-runtime';
import { type ContentPart, RUN_EXTENSION, textPart, toA2aParts } from '#rollcall/providers';
import { runFacts } from '../../runs/run.task.js';

/** The artifact with the answer of a run. The other artifacts are its files. */
const ARTIFACT = 'result';

const APPROVAL =
  'The calls in `approvals` need an approval. Answer with a data part {"decision": {"callId", "inputHash", "approved"}}.';

const STATES: Record<Exclude<RunStatus, 'waiting'>, TaskState> = {
  queued: TaskState.TASK_STATE_SUBMITTED,
  running: TaskState.TASK_STATE_WORKING,
  completed: TaskState.TASK_STATE_COMPLETED,
  refused: TaskState.TASK_STATE_REJECTED,
  stopped: TaskState.TASK_STATE_FAILED,
  failed: TaskState.TASK_STATE_FAILED,
  cancelled: TaskState.TASK_STATE_CANCELED,
};
/** The specification also uses AUTH_REQUIRED for an approval by a human (section 7.6). */
const WAITING: Record<WaitingFor, TaskState> = {
  input: TaskState.TASK_STATE_INPUT_REQUIRED,
  approval: TaskState.TASK_STATE_AUTH_REQUIRED,
  needs_review: TaskState.TASK_STATE_AUTH_REQUIRED,
  authorization: TaskState.TASK_STATE_AUTH_REQUIRED,
};

/** The names of the states that a task can have. */
export const TASK_STATES: readonly string[] = [
  ...new Set([...Object.values(STATES), ...Object.values(WAITING)].map((state) => taskStateToJSON(state))),
];

interface TaskOptions {
  /** How many of the newest messages the task contains. Absent: all messages. */
  readonly historyLength?: number;
  /** If false, the task has no artifacts. The default is true. */
  readonly includeArtifacts?: boolean;
}

/** `messages` are the messages of the caller. */
export function toA2aTask(run: Run, messages: readonly StoredStep[], options: TaskOptions = {}): Task {
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

/** A task in a list: each content is replaced by the beginning of its text. The metadata of an artifact says how large it is. */
export function toListedTask(
  summary: RunSummary,
  messages: readonly StoredStep[],
  { includeArtifacts }: Pick<TaskOptions, 'includeArtifacts'>,
): Task {
  const { inputPreview, resultPreview, ...facts } = summary;
  const { text = '', parts = 0, bytes = 0, truncated = false, approvals = 0, ...explanation } = resultPreview ?? {};
  const result = resultPreview && { ...explanation, parts: parts === 0 ? [] : [textPart(text)] };
  const run: Run = { ...facts, input: [textPart(inputPreview.text)], result };
  const task = toA2aTask(run, messages, { includeArtifacts });
  const preview = { [RUN_EXTENSION]: { preview: { parts, bytes, truncated, ...(approvals > 0 && { approvals }) } } };
  return truncated ? { ...task, artifacts: task.artifacts.map((one) => ({ ...one, metadata: preview })) } : task;
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

function taskStateOf({ state, waitingFor }: Pick<Run, 'state' | 'waitingFor'>): TaskState {
  if (state === 'running' && waitingFor === 'authorization') return WAITING[waitingFor];
  return state === 'waiting' ? WAITING[waitingFor ?? 'input'] : STATES[state];
}

/** The runs whose task has this state; undefined if there is no such state. */
export function runsIn(wanted: TaskState): Pick<ChangeFilter, 'states' | 'waitingFor'> | undefined {
  const waitingFor = keysOf(WAITING, wanted);
  if (waitingFor.length > 0) return { states: ['waiting', 'running'], waitingFor };
  const states = keysOf(STATES, wanted);
  return states.length > 0 ? { states } : undefined;
}

function keysOf<Key extends string>(table: Record<Key, TaskState>, wanted: TaskState): Key[] {
  return (Object.keys(table) as Key[]).filter((key) => table[key] === wanted);
}

/**
 * The complete or partial answer of a finished run. While a run waits, the parts of its result are a question and belong to the status;
 * a run that was cancelled then keeps the question.
 */
export function artifactsOf({ state, result }: Run): Artifact[] {
  if (!isFinal(state) || state === 'refused' || state === 'cancelled' || !result || result.parts.length === 0)
    return [];
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

/** A file in the workspace of a run. Without its content, the size says what is missing. */
export function fileArtifact({ path, bytes, content }: FileContent): Artifact {
  const mediaType = content && isUtf8(content) ? 'text/plain' : 'application/octet-stream';
  const part: ContentPart = content
    ? { type: 'file', name: path, mediaType, bytes: content.toString('base64') }
    : { type: 'data', data: { path, bytes } };
  const description = 'A file in the workspace of the run';
  return { ...artifact([part]), artifactId: `file:${path}`, name: path, description };
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

/** The facts of the run that A2A has no field for. */
function factsOf(run: Run): Record<string, unknown> {
  return { [RUN_EXTENSION]: runFacts(run) };
}

/** Why the run waits, was refused, failed or was stopped. */
function explanationOf({ state, waitingFor, result }: Run): readonly ContentPart[] {
  if (!result) return [];
  const { parts, detail, error, approvals = [] } = result;
  if (state === 'refused' || waitingFor === 'input' || waitingFor === 'authorization') return parts;
  if (state === 'waiting')
    return [
      ...parts,
      textPart(detail ?? APPROVAL),
      ...(approvals.length > 0 ? [{ type: 'data', data: { approvals } } as const] : []),
    ];
  if (state === 'failed') return [textPart(error?.message ?? 'The run failed.')];
  return state === 'stopped' ? [textPart(detail ?? 'The run was stopped.')] : [];
}
