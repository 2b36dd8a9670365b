import type { AgentResult, ContentPart } from '#rollcall/providers';
import { textOfError } from '../delegation/child.result.js';
import type { PendingApproval, StopReason } from '../loop/run.outcome.js';

export const NEEDS_REVIEW: StopReason = 'needs-review';

/** In the last five states, a run is finished and never changes again. */
export const RUN_STATES = [
  'queued',
  'running',
  'waiting',
  'completed',
  'refused',
  'stopped',
  'failed',
  'cancelled',
] as const;
export type RunStatus = (typeof RUN_STATES)[number];
export type FinalState = Exclude<RunStatus, 'queued' | 'running' | 'waiting'>;

/**
 * What a waiting run waits for. `input`: the answer to a question of the agent. `approval`: a decision about tool calls.
 * `needs_review`: a decision about calls that a crash interrupted, because it is unknown whether they took effect. `authorization`: the
 * task of a remote agent waits for an authorization that is given outside of this run. The run stays `running`, because the agent
 * continues by itself.
 */
export const WAITING_FOR = ['input', 'approval', 'needs_review', 'authorization'] as const;
export type WaitingFor = (typeof WAITING_FOR)[number];

/** A call that waits for a decision. */
export interface PendingCall extends PendingApproval {
  /** The delegated run that made the call; absent if the run itself made it. */
  readonly runId?: string;
}

/** The answer of a run so far, and why there is no final answer. */
export interface RunResult {
  readonly parts: readonly ContentPart[];
  /** Why the run was stopped, such as `budget`. */
  readonly reason?: string;
  /** An explanation for a human. */
  readonly detail?: string;
  /** The calls that wait for a decision. */
  readonly approvals?: readonly PendingCall[];
  /** The error of a failed run. */
  readonly error?: { readonly code: string; readonly message: string };
}

/** How an execution of a run ended. */
export interface RunEnd {
  readonly state: 'waiting' | Exclude<FinalState, 'cancelled'>;
  readonly waitingFor: WaitingFor | null;
  readonly result: RunResult;
}

/** Everything that changes the state of a run. */
export type RunChange = 'claim' | 'continue' | 'cancel' | RunEnd['state'];

const NEXT: Record<'queued' | 'running' | 'waiting', Partial<Record<RunChange, RunStatus>>> = {
  queued: { claim: 'running', cancel: 'cancelled' },
  running: {
    claim: 'running', // another replica takes over
    waiting: 'waiting',
    completed: 'completed',
    refused: 'refused',
    stopped: 'stopped',
    failed: 'failed',
    cancel: 'cancelled',
  },
  waiting: { continue: 'queued', stopped: 'stopped', cancel: 'cancelled' },
};

/** The state after a change; undefined if the change is not possible. A finished run never changes. */
export function nextStatus(state: RunStatus, change: RunChange): RunStatus | undefined {
  return isFinal(state) ? undefined : NEXT[state][change];
}

export function isFinal(state: RunStatus): state is FinalState {
  return state !== 'queued' && state !== 'running' && state !== 'waiting';
}

/** Whether nothing happens to the run before somebody acts: it is finished, or waits for its caller. */
export function isFinalOrWaiting(state: RunStatus): boolean {
  return isFinal(state) || state === 'waiting';
}

/** The states in which a change is possible, for the condition of a statement. */
export function statusesBefore(change: RunChange): RunStatus[] {
  return RUN_STATES.filter((state) => nextStatus(state, change) !== undefined);
}

/** `pending` are the interrupted calls of a run that needs a review. */
export function endOf(result: AgentResult, pending: readonly PendingApproval[] = []): RunEnd {
  const { parts } = result;
  switch (result.outcome) {
    case 'completed':
    case 'refused':
      return { state: result.outcome, waitingFor: null, result: { parts } };
    case 'input-required':
      return { state: 'waiting', waitingFor: 'input', result: { parts } };
    case 'waiting':
      return { state: 'waiting', waitingFor: 'approval', result: { parts, approvals: result.approvals } };
    case 'stopped': {
      const { reason, detail } = result;
      if (reason !== NEEDS_REVIEW) return { state: 'stopped', waitingFor: null, result: { parts, reason, detail } };
      return { state: 'waiting', waitingFor: 'needs_review', result: { parts, reason, detail, approvals: pending } };
    }
  }
}

/** What a run waited for before it was queued again; null if no other call waits for a decision. */
export function waitedFor(result: RunResult | null): WaitingFor | null {
  if (!result?.approvals?.length) return null;
  return result.reason === NEEDS_REVIEW ? 'needs_review' : 'approval';
}

/** Whether the run was interrupted in a call that must not be repeated without a decision. */
export function isReviewNeeded(result: AgentResult): boolean {
  return result.outcome === 'stopped' && result.reason === NEEDS_REVIEW;
}

/** The end of a root that waits for a decision about calls of a delegated run. */
export function reviewOf(approvals: readonly PendingCall[]): RunEnd {
  const detail =
    'The run was interrupted while a delegated run executed a call that must not be repeated without a decision.';
  return {
    state: 'waiting',
    waitingFor: 'needs_review',
    result: { parts: [], reason: NEEDS_REVIEW, detail, approvals },
  };
}

/** A delegated run never waits for an answer or an approval, because its root continues without it. */
export function endOfDelegated(result: AgentResult): RunEnd {
  const end = endOf(result);
  if (end.state !== 'waiting') return end;
  return { state: 'stopped', waitingFor: null, result: { reason: end.waitingFor ?? '', ...end.result } };
}

export function failureOf(error: unknown): RunEnd {
  const { code } = error as { code?: unknown };
  const known = typeof code === 'string' ? code : 'AGENT_FAILED_INTERNALLY';
  return {
    state: 'failed',
    waitingFor: null,
    result: { parts: [], error: { code: known, message: textOfError(error) } },
  };
}
