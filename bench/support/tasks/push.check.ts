import type { Status } from './task.events.js';

export interface PushFaults {
  /** Notifications that did not arrive. */
  pushesMissed: number;
  /** Tasks with a notification in the wrong position, or with an unexpected notification. */
  pushesDisordered: number;
}

/** The notifications of a task of the storm. WORKING is sent only when the task begins, not when it continues after the answer. */
const EXPECTED = ['SUBMITTED', 'WORKING', 'INPUT_REQUIRED', 'SUBMITTED', 'COMPLETED'];

/**
 * Compares what arrived for each task with what docs/a2a.md guarantees. Each notification is sent after the previous notification
 * was accepted, and after the death of a replica only the notification in progress is repeated. So exactly the expected states must remain
 * when consecutive repetitions are removed.
 */
export function pushFaultsOf(tasks: readonly (readonly Status[])[]): PushFaults {
  const faults: PushFaults = { pushesMissed: 0, pushesDisordered: 0 };
  for (const received of tasks) {
    const states = withoutRepetitions(received);
    const missed = missing(states);
    faults.pushesMissed += missed;
    if (missed === 0 && states.join() !== EXPECTED.join()) faults.pushesDisordered += 1;
  }
  return faults;
}

/** A repetition has the state and the time of the notification before it. */
function withoutRepetitions(received: readonly Status[]): string[] {
  return received
    .filter(({ state, timestamp }, index) => {
      const before = received[index - 1];
      return before?.state !== state || before.timestamp !== timestamp;
    })
    .map(({ state }) => state.replace('TASK_STATE_', ''));
}

function missing(states: readonly string[]): number {
  const left = [...states];
  return EXPECTED.filter((state) => {
    const at = left.indexOf(state);
    if (at >= 0) left.splice(at, 1);
    return at < 0;
  }).length;
}
