import type { ContentPart } from '#rollcall/providers';
import { RuntimeError } from '../errors.js';
import type { SpendingAmount } from '../spending/spending.js';
import type { RunFacts, VisibleRuns } from '../runs/run.js';

/** Identifies a conversation: two principals that choose the same id have two conversations. */
export interface ConversationKey {
  readonly namespace: string;
  readonly createdBy: string;
  readonly id: string;
}

/** Which conversation a caller means. It sees the conversations of the runs that it sees. */
export interface ConversationQuery extends VisibleRuns {
  readonly id: string;
  /** Selects one of several conversations with this id. Without it, that of `by` is meant, or else the oldest one. */
  readonly createdBy?: string;
  readonly by: string;
}

/** A conversation as lists show it. */
export interface Conversation extends ConversationKey {
  /** The position in the order of creation. */
  readonly seq: number;
  /** The agent of the last run. */
  readonly agentId: string;
  /** How many runs were started in it. */
  readonly runs: number;
  /** How many of them are not finished. One of them is executed or waits for its caller; the others wait for their turn. */
  readonly openRuns: number;
  readonly createdAt: string;
  readonly lastRunAt: string;
}

/** What the caller or the agent said. */
export interface ConversationMessage {
  readonly role: 'user' | 'agent';
  readonly at: string;
  readonly parts: readonly ContentPart[];
}

/** One run of a conversation, with the messages of its caller and the answer. */
export interface ConversationRun extends Pick<
  RunFacts,
  'id' | 'agentId' | 'state' | 'waitingFor' | 'usage' | 'createdAt' | 'finishedAt'
> {
  readonly seq: number;
  readonly messages: readonly ConversationMessage[];
}

/** A conversation with the cost of all its runs and their descendants, and a page of its runs. */
export interface ConversationReading {
  readonly conversation: Conversation;
  readonly cost: SpendingAmount;
  /** Newest first. */
  readonly runs: readonly ConversationRun[];
}

export class ConversationNotFoundError extends RuntimeError {
  readonly code = 'CONVERSATION_NOT_FOUND';

  constructor(id: string) {
    super(
      `You have no conversation ${JSON.stringify(id.slice(0, 100))} in this namespace. A conversation begins with the first run that names it.`,
    );
  }
}

/** Another principal's conversation, which the caller sees. */
export class ConversationForeignError extends RuntimeError {
  readonly code = 'CONVERSATION_FOREIGN';

  constructor() {
    super('Another principal has this conversation. You need the permission runs:manage to delete it.');
  }
}
