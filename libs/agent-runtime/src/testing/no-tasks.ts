import type { TaskCalls } from '../tasks/task.calls.js';

/** For tests without agents that take their tasks. */
export const NO_TASKS = undefined as unknown as TaskCalls;
