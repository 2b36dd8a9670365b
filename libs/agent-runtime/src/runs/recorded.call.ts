import type { Agent, AgentMessage, AgentUsage, HandleOptions } from '#rollcall/providers';
import type { PendingApproval } from '../loop/run.outcome.js';
import type { RunUsage } from '../spending/spending.js';
import type { RunJournal } from './run.journal.js';
import type { RunStep } from './run.step.js';

/** One execution of a run, from its beginning or from its last stored step. */
export interface RecordedCall {
  readonly agent: Agent;
  readonly steps: readonly RunStep[];
  readonly options: HandleOptions & Required<Pick<HandleOptions, 'signal' | 'context'>>;
  readonly journal: RunJournal;
  /** Whether the call of an agent with its own loop may be repeated after an interruption. */
  readonly isIdempotent: boolean;
  /** The usage of the run, if it is known without a read. */
  readonly usage?: RunUsage;
  readonly now: () => number;
}

/** What is known about an execution while it runs. */
export class Progress {
  usage: AgentUsage = {};
  /** The calls that an operator must decide about. */
  pending: readonly PendingApproval[] = [];
}

/** The last message of the caller. */
export function lastMessage(steps: readonly RunStep[]): AgentMessage {
  const last = steps.findLast((step) => step.type === 'message');
  if (!last) throw new Error('a run begins with a message');
  return last;
}
