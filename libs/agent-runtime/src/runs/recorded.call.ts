import type { AgentEvent, AgentUsage, HandleOptions } from '#rollcall/providers';
import { ReactAgent } from '../agents/react.agent.js';
import type { PaymentOptions } from '../calls/paid.call.js';
import type { DelegationTarget } from '../delegation/delegation.targets.js';
import type { PendingApproval } from '../loop/run.outcome.js';
import type { RunUsage } from '../spending/spending.js';
import { externalCall } from './external.call.js';
import { loopCall } from './loop.call.js';
import type { RunJournal } from './run.journal.js';

/** One execution of a run, from its beginning or from its last stored step. */
export interface RecordedCall {
  readonly target: DelegationTarget;
  readonly options: HandleOptions & Required<Pick<HandleOptions, 'signal' | 'context'>>;
  readonly journal: RunJournal;
  /** Whether the call of an agent with its own loop may be repeated after an interruption. */
  readonly isIdempotent: boolean;
  readonly payment?: PaymentOptions;
  /** The usage of the run, if it is known without a read. Its budget exists then. */
  readonly usage?: RunUsage;
  readonly now: () => number;
}

/** What is known about an execution while it runs. */
export class Progress {
  usage: AgentUsage = {};
  /** The calls that an operator must decide about. */
  pending: readonly PendingApproval[] = [];
}

/**
 * Executes an agent and records its steps: each is stored before something outside depends on it. It yields the events of the agent,
 * ending with `finished`. The messages of the caller are already in the steps.
 */
export function recordedCall(call: RecordedCall, progress: Progress): AsyncGenerator<AgentEvent> {
  const { agent } = call.target;
  return agent instanceof ReactAgent ? loopCall(agent, call, progress) : externalCall(call, progress);
}
