import { ApprovalForbiddenError, RunDecisionMismatchError, RunNotWaitingError } from './run.errors.js';
import type { Run, RunActor, RunDecision } from './run.js';
import { type RunResult, waitedFor } from './run.status.js';
import type { RunStep } from './run.step.js';

type DecidableRun = Pick<Run, 'id' | 'state' | 'waitingFor' | 'result'>;

/** A step, and the run that it belongs to. */
export interface DecidedStep {
  readonly runId: string;
  readonly step: RunStep;
  /** The result of the run afterwards, with the calls that still wait. */
  readonly result: RunResult | null;
}

/**
 * The step that records a decision. The decision must name a waiting call with exactly its input. After an interruption, it may also
 * record the result of the call. A run that is queued after a decision accepts decisions about its other calls. The caller of the run
 * may decide only if the tool allows it (S-9).
 */
export function stepOf(
  run: DecidableRun,
  decision: RunDecision,
  { mayManage }: Pick<RunActor, 'mayManage'>,
): DecidedStep {
  const { result } = run;
  const waitingFor = run.state === 'queued' ? waitedFor(result) : run.waitingFor;
  if (waitingFor === null || waitingFor === 'input') throw new RunNotWaitingError(run, 'decision');
  const { callId, inputHash, approved, reason, output } = decision;
  const call = result?.approvals?.find((one) => one.callId === callId && one.inputHash === inputHash);
  if (!call) throw RunDecisionMismatchError.ofCall();
  if (call.approve !== 'caller' && !mayManage) throw new ApprovalForbiddenError(call.tool);
  if (output !== undefined && waitingFor !== 'needs_review') throw RunDecisionMismatchError.ofOutput();
  const { runId = run.id } = call;
  const rest = result && { ...result, approvals: result.approvals?.filter((one) => one !== call) ?? [] };
  const decided = { type: 'approval-decided', callId, inputHash, approved } as const;
  const step: RunStep =
    output !== undefined
      ? { type: 'tool-finished', turn: 0, callId, name: call.tool, output, inputHash }
      : { ...decided, ...(reason !== undefined && { reason }) };
  return { runId, step, result: rest };
}

/** Whether the decision repeats the recorded one. Rejects a different decision about the same question. */
export function isRepeated(made: RunStep | undefined, { approved, output }: RunDecision): boolean {
  if (made?.type === 'approval-decided') {
    if (made.approved === approved && output === undefined) return true;
    throw RunDecisionMismatchError.ofDecided();
  }
  if (made?.type !== 'tool-finished') return false;
  if (made.output === output) return true;
  throw RunDecisionMismatchError.ofDecided();
}
