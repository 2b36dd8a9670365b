import { RunDecisionMismatchError, RunNotWaitingError } from './run.errors.js';
import type { Run, RunDecision } from './run.js';
import type { RunStep } from './run.step.js';

/**
 * The step that records a decision of an operator. It must name a call that waits, with exactly its input. After an interruption,
 * the operator may also record the result of the call.
 */
export function stepOf(run: Pick<Run, 'state' | 'waitingFor' | 'result'>, decision: RunDecision): RunStep {
  const { waitingFor, result } = run;
  if (waitingFor === null || waitingFor === 'input') throw new RunNotWaitingError(run, 'a decision');
  const { callId, inputHash, approved, reason, output } = decision;
  const call = result?.approvals?.find((one) => one.callId === callId && one.inputHash === inputHash);
  if (!call) throw RunDecisionMismatchError.ofCall();
  if (output !== undefined && waitingFor !== 'needs_review') throw RunDecisionMismatchError.ofOutput();
  if (output !== undefined) return { type: 'tool-finished', turn: 0, callId, name: call.tool, output };
  return { type: 'approval-decided', callId, inputHash, approved, ...(reason !== undefined && { reason }) };
}
