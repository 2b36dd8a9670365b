import type { ModelMessage } from '#rollcall/providers';
import type { Step } from './step.js';

/** The state of a run. It follows from the steps alone, so a stored run can be resumed. */
export interface RunState {
  readonly messages: readonly ModelMessage[];
  /** The number of model replies so far. */
  readonly turn: number;
  /** The steps of the last turn that the messages do not contain yet: calls without a result, and decisions about approvals. */
  readonly openSteps: readonly Step[];
}
