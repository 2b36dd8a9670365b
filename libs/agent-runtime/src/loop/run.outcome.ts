import type { ContentPart } from '#rollcall/providers';
import type { Approver } from '../tools/approver.js';

/** Why a run ended before it had a final answer. */
export type StopReason =
  | 'iterations'
  | 'budget'
  | 'deadline'
  /** The model reached its limit of output tokens in the middle of the answer. */
  | 'output-limit'
  /** The model returned empty answers repeatedly. */
  | 'empty-answer'
  /** A guardrail rejected the input or the answer. */
  | 'guardrail'
  /** The answer does not match the requested JSON schema. */
  | 'invalid-output'
  /** The run was interrupted during a tool call that must not be repeated without a decision of an operator. */
  | 'needs-review';

/** A tool call that waits for an approval of exactly this input. */
export interface PendingApproval {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
  /** Names the question: the input, the turn, and the decisions before. A decision contains it. */
  readonly inputHash: string;
  /** Absent: an operator. */
  readonly approve?: Approver;
}

/** How a run ended. A limit is a result; an error is thrown only for faults of a vendor, an agent or Rollcall. */
export type RunOutcome =
  | { readonly type: 'completed'; readonly parts: readonly ContentPart[] }
  /** The agent asks its caller a question. */
  | { readonly type: 'input-required'; readonly parts: readonly ContentPart[] }
  | { readonly type: 'refused'; readonly parts: readonly ContentPart[] }
  | { readonly type: 'waiting'; readonly approvals: readonly PendingApproval[] }
  /** `parts` contains the partial answer, if there is one. `detail` explains the reason to a human. */
  | {
      readonly type: 'stopped';
      readonly reason: StopReason;
      readonly detail: string;
      readonly parts: readonly ContentPart[];
    };

/** The outcome of a run whose reader stopped reading. It is never delivered. */
export const ABANDONED: RunOutcome = {
  type: 'stopped',
  reason: 'deadline',
  detail: 'The caller stopped reading.',
  parts: [],
};
