import { RunDecisionMismatchError, RunNotWaitingError } from './run.errors.js';
import type { Run, RunDecision } from './run.js';
import type { RunStep } from './run.step.js';

type DecidableRun = Pick<Run, 'id' | 'state' | 'waitingFor' | 'result'>;

/** A step, and the run that it belongs to. */
export interface DecidedStep {
  readonly runId: string;
  readonly step: RunStep;
}

/**
 * The step that records a decision of an operator. It must name a call that waits, with exactly its input. After an interruption,
 * the operator may also record the result of the call.
 */
export function stepOf(run: DecidableRun, decision: RunDecision): DecidedStep {
  const { waitingFor, result } = run;
  if (waitingFor === null || waitingFor === 'input') throw new RunNotWaitingError(run, 'a decision');
  const { callId, inputHash, approved, reason, output } = decision;
  const call = result?.approvals?.find((one) => one.callId === callId && one.inputHash === inputHash);
  if (!call) throw RunDecisionMismatchError.ofCall();
  if (output !== undefined && waitingFor !== 'needs_review') throw RunDecisionMismatchError.ofOutput();
  const { runId = run.id } = call;
  if (output !== undefined) return { runId, step: { type: 'tool-finished', turn: 0, callId, name: call.tool, output } };
  const step = { type: 'approval-decided', callId, inputHash, approved } as const;
  return { runId, step: reason === undefined ? step : { ...step, reason } };
}
