import { RESULT } from './storm.model.js';
import type { Subscriber } from './subscriber.js';
import type { Status } from './task.events.js';

export interface StreamFaults {
  /** Statuses that one subscriber received twice, or after a later status. */
  repeated: number;
  /** Changes to a state that cannot follow the previous state. */
  missed: number;
  others: string[];
}

const CHANGES = new Set([
  'SUBMITTED WORKING',
  'WORKING INPUT_REQUIRED',
  'INPUT_REQUIRED SUBMITTED',
  'WORKING COMPLETED',
]);

const keyOf = ({ state, timestamp }: Status): string => `${timestamp} ${state}`;

/** Compares what the subscribers of one task received. */
export function faultsOf(subscribers: readonly Subscriber[]): StreamFaults {
  const others = subscribers.flatMap(({ faults, answer }) =>
    answer === RESULT ? faults : [...faults, `unexpected answer: ${answer}`],
  );
  return {
    repeated: sum(subscribers, repeatedBy),
    missed: sum(subscribers, missedBy),
    others,
  };
}

/** A snapshot may repeat what the subscriber knows. An update may not. */
function repeatedBy({ connections }: Subscriber): number {
  let last = '';
  let repeated = 0;
  for (const { snapshot, updates } of connections) {
    if (snapshot && timeOf(snapshot) < last) repeated += 1;
    const seen = new Set(snapshot ? [keyOf(snapshot)] : []);
    for (const status of updates) {
      if (seen.has(keyOf(status)) || timeOf(status) < last) repeated += 1;
      seen.add(keyOf(status));
      last = timeOf(status);
    }
    last = snapshot && timeOf(snapshot) > last ? timeOf(snapshot) : last;
  }
  return repeated;
}

function missedBy({ connections }: Subscriber): number {
  return sum(connections, ({ snapshot, updates }) => {
    const states = [...(snapshot ? [snapshot] : []), ...updates].map(({ state }) => state.replace('TASK_STATE_', ''));
    return states.slice(1).filter((state, index) => !CHANGES.has(`${states[index]} ${state}`)).length;
  });
}

function timeOf({ timestamp }: Status): string {
  return timestamp;
}

function sum<One>(list: readonly One[], count: (one: One) => number): number {
  return list.reduce((total, one) => total + count(one), 0);
}
