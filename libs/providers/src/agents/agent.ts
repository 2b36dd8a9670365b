import type { ModelUsage } from '../models/usage.js';

/**
 * How an agent is implemented. `in-process`: the loop of Rollcall. `sdk`: the SDK of a vendor, in this process. `api`: a
 * service that is called over plain HTTP. `remote`: a service that is called over A2A. `subprocess`: a child process.
 * Callers use all types in the same way.
 */
export type AgentType = 'sdk' | 'api' | 'in-process' | 'remote' | 'subprocess';

/** `failed`: the last call failed because of the agent. The next call may succeed. */
export type AgentState = 'idle' | 'busy' | 'failed' | 'closed';

export interface AgentMessage {
  text: string;
  /** Structured input in addition to the text, as JSON. */
  data?: unknown;
}

/** What a call may use. An agent with its own loop receives the budget, but is not forced to respect it. */
export interface CallBudget {
  tokens?: number;
  microUsd?: number;
}

export interface HandleOptions {
  /**
   * Ends the call with CALL_ABORTED, or with the reason of the signal if the reason is a ProviderError. The owner of the
   * signal decides with this reason whether the agent counts as failed, for example after a timeout.
   */
  signal?: AbortSignal;
  budget?: CallBudget;
  /** Identifies the conversation. All its messages have the same id. */
  conversationId?: string;
  /** Identifies the call. All attempts have the same id, so that the agent can recognise a repetition. */
  callId?: string;
}

/** The usage of the whole call. An unknown count is undefined, never 0. */
export interface AgentUsage extends ModelUsage {
  costMicroUsd?: number;
  byModel?: Record<string, ModelUsage & { costMicroUsd?: number }>;
}

export interface AgentResult {
  /** `input-required`: the agent asks a question. It continues with the next message of the conversation. */
  outcome: 'completed' | 'input-required';
  text: string;
  data?: unknown;
  usage: AgentUsage;
  conversationId?: string;
}

export type AgentEvent =
  /** A part of the answer. */
  | { type: 'text'; text: string }
  /** What the agent is currently doing, for humans. */
  | { type: 'progress'; text: string }
  | { type: 'tool-call'; id: string; name: string; input: unknown }
  | { type: 'tool-result'; id: string; name: string; output: string; failed?: boolean }
  | { type: 'finished'; result: AgentResult };

/**
 * One agent of any kind. `handle` ends with exactly one `finished` event or throws a ProviderError. Calls may overlap.
 * A call ends on both sides within a second when its signal is aborted or when the caller stops reading its events.
 * `shutdown` ends all calls with AGENT_CLOSED and releases all resources; it may be called twice.
 */
export interface Agent {
  readonly name: string;
  readonly agentType: AgentType;
  readonly state: AgentState;
  handle(message: AgentMessage, options?: HandleOptions): AsyncIterable<AgentEvent>;
  shutdown(): Promise<void>;
}
