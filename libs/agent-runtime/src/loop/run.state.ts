import type { ModelMessage } from '#rollcall/providers';
import type { Step } from './step.js';

/** The state of a run. It follows from the steps alone, so a stored run can be resumed. */
export interface RunState {
  readonly messages: readonly ModelMessage[];
  /** The number of model replies so far, including summaries. */
  readonly turn: number;
  /** The steps of the last turn, from the reply of the model on, until its tool calls have results or the caller continues. */
  readonly openSteps: readonly Step[];
  /** How often the loop has asked the model to correct its answer since the last useful reply. */
  readonly corrections: number;
  /** The tokens of the conversation: the count of the last reply, and an estimate of the messages since then. */
  readonly contextTokens: number;
}
