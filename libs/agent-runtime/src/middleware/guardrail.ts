import type { RunContext } from '../loop/run.context.js';
import type { RunOutcome } from '../loop/run.outcome.js';

/** The reason of a rejection. It is shown to the caller. */
export interface Rejection {
  readonly reject: string;
}

/** A text that replaces the text of the answer. */
export interface Replacement {
  readonly replace: string;
}

/** Returns undefined to accept the input or the answer. If a check throws an error, the run ends with that error. */
export type InputCheck = (text: string, context: RunContext) => Verdict<Rejection>;
export type OutputCheck = (text: string, context: RunContext, outcome: RunOutcome) => Verdict<Rejection | Replacement>;
type Verdict<Value> = Value | undefined | Promise<Value | undefined>;

export function rejected(what: 'input' | 'answer', { reject }: Rejection): RunOutcome {
  return { type: 'stopped', reason: 'guardrail', detail: `A guardrail rejected the ${what}: ${reject}`, parts: [] };
}
