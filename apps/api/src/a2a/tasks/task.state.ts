import { TaskState, taskStateToJSON } from '@a2a-js/sdk';
import type { ChangeFilter, Run, RunStatus, WaitingFor } from '#rollcall/agent-runtime';

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
};

/** The names of the states that a task can have. */
export const TASK_STATES: readonly string[] = [
  ...new Set([...Object.values(STATES), ...Object.values(WAITING)].map((state) => taskStateToJSON(state))),
];

export function taskStateOf({ state, waitingFor }: Pick<Run, 'state' | 'waitingFor'>): TaskState {
  return state === 'waiting' ? WAITING[waitingFor ?? 'input'] : STATES[state];
}

/** The runs whose task has this state; undefined if there is no such state. */
export function runsIn(wanted: TaskState): Pick<ChangeFilter, 'states' | 'waitingFor'> | undefined {
  const waitingFor = keysOf(WAITING, wanted);
  if (waitingFor.length > 0) return { states: ['waiting'], waitingFor };
  const states = keysOf(STATES, wanted);
  return states.length > 0 ? { states } : undefined;
}

function keysOf<Key extends string>(table: Record<Key, TaskState>, wanted: TaskState): Key[] {
  return (Object.keys(table) as Key[]).filter((key) => table[key] === wanted);
}
