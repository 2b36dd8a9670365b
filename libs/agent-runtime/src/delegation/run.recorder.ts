import type { Agent } from '#rollcall/providers';
import type { RunContext } from '../loop/run.context.js';
import type { PaymentOptions } from '../calls/paid.call.js';
import type { DelegationTarget } from './delegation.targets.js';

/** Records delegated runs. Its implementation is a part of durable runs; without it, delegated runs leave no record. */
export abstract class RunRecorder {
  /**
   * The agent of the target. Its calls are recorded as runs if the root of their tree is a durable run of this replica. A repeated call
   * of the same delegated run continues where it was interrupted, or returns the recorded result.
   */
  abstract recorded(target: DelegationTarget, payment?: PaymentOptions): Agent;
  /** The revision of the definition that a run was started with; undefined if the run does not exist or has no definition. */
  abstract revisionOf(run: RunContext): Promise<number | undefined>;
}
