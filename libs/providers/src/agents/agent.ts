import type { ModelUsage } from '../models/usage.js';

/**
 * How an agent is made of: `in-process` runs our own loop, `sdk` a vendor's loop in this process, `api` answers over plain
 * HTTP, `remote` over A2A, `subprocess` is a program beside us. Callers need not care.
 */
export type AgentType = 'sdk' | 'api' | 'in-process' | 'remote' | 'subprocess';

/** `failed`: the last call failed through no fault of its caller; the next one may still succeed. */
export type AgentState = 'idle' | 'busy' | 'failed' | 'closed';

export interface AgentMessage {
  text: string;
  /** Structured input beside the text: JSON. */
  data?: unknown;
}

/** What a call may use. An agent that owns its loop is told; whether it listens, the ledger will show. */
export interface AgentBudget {
  tokens?: number;
  microUsd?: number;
}

export interface HandleOptions {
  /** Ends the call with CALL_ABORTED, or with the signal's reason where that is a ProviderError: so a deadline can say whose
   * fault it is that it has passed. */
  signal?: AbortSignal;
  budget?: AgentBudget;
  /** The same for every message of one conversation. */
  conversationId?: string;
  /** The same for every attempt at one call, so that the other side can recognise a repetition. */
  callId?: string;
}

/** Unknown is undefined, never 0. Covers everything the call has caused, not just its last step. */
export interface AgentUsage extends ModelUsage {
  costMicroUsd?: number;
  byModel?: Record<string, ModelUsage & { costMicroUsd?: number }>;
}

export interface AgentResult {
  /** `input-required`: the agent asks something back and goes on when the conversation does. */
  outcome: 'completed' | 'input-required';
  text: string;
  data?: unknown;
  usage: AgentUsage;
  conversationId?: string;
}

export type AgentEvent =
  /** A piece of the answer. */
  | { type: 'text'; text: string }
  /** What the agent is doing meanwhile, for people to read. */
  | { type: 'progress'; text: string }
  | { type: 'tool-call'; id: string; name: string; input: unknown }
  | { type: 'tool-result'; id: string; name: string; output: string; failed?: boolean }
  | { type: 'finished'; result: AgentResult };

/**
 * One live agent, whatever it is made of. `handle` ends with exactly one `finished` or throws a ProviderError; calls may
 * overlap. Aborting the signal, or leaving the loop over the events, ends the call on both sides within a second. `shutdown` ends
 * all calls with AGENT_CLOSED and leaves nothing behind; it may be called twice.
 */
export interface Agent {
  readonly name: string;
  readonly agentType: AgentType;
  readonly state: AgentState;
  handle(message: AgentMessage, options?: HandleOptions): AsyncIterable<AgentEvent>;
  shutdown(): Promise<void>;
}
