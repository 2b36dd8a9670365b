import type { ModelUsage } from '../models/model.provider.js';
import type { ContentPart } from './content.part.js';

/**
 * How an agent is implemented. `in-process`: the loop of Rollcall. `sdk`: the SDK of a vendor, called by this process. `api`: a
 * service that is called over plain HTTP. `remote`: a service that is called over A2A. `subprocess`: a child process.
 * Callers use all types in the same way.
 */
export type AgentType = 'sdk' | 'api' | 'in-process' | 'remote' | 'subprocess';

/** `failed`: the last call failed because of the agent. The next call may succeed. */
export type AgentState = 'idle' | 'busy' | 'failed' | 'closed';

/** What an A2A client sends with a message besides its parts. Agents that use A2A receive it unchanged. */
export interface A2aEnvelope {
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly referenceTaskIds?: readonly string[];
  /** The URIs of the extensions of the message, and of those that the request activates. */
  readonly extensions?: readonly string[];
}

/** The message that an agent receives. `message(text, data)` creates one. */
export interface AgentMessage {
  readonly parts: readonly ContentPart[];
  readonly a2a?: A2aEnvelope;
}

/** The work of a remote agent under the agent's own id. It outlives the process that sent the message. */
export interface RemoteTask {
  readonly taskId: string;
  readonly contextId?: string;
}

/** The tokens and the money that a call may use. An agent with its own loop receives the budget, but is not forced to respect it. */
export interface CallBudget {
  tokens?: number;
  microUsd?: number;
}

/**
 * The position of a call in its tree of runs, and the limits of the tree. A model can neither read nor change it. Agents
 * outside this process receive only the ids, the depth and the deadline.
 */
export interface CallContext {
  readonly namespace: string;
  readonly rootRunId: string;
  /** The workspace of the tree, if it is not its own but that of a conversation. */
  readonly workspaceId?: string;
  /** The conversation of the root, if it belongs to one. */
  readonly conversationId?: string;
  readonly runId: string;
  /** The run that delegated to this run, and whose budget pays for this run. Absent for a root. */
  readonly parentRunId?: string;
  /** The principal that started the root of the tree. Its budget also pays for this run. Absent for a call without a principal. */
  readonly callerId?: string;
  /** The name of the called agent, for tools, logs and traces. */
  readonly agentName: string;
  /** The names of the agents that delegated to this run, from the root to the parent. */
  readonly ancestry: readonly string[];
  readonly depth: number;
  /** When the tree must have ended, in milliseconds since 1970; null means no deadline. */
  readonly deadline: number | null;
  readonly limits?: { readonly maxDepth: number; readonly maxWidth: number; readonly maxRuns: number };
}

export interface HandleOptions {
  /**
   * Ends the call with CALL_ABORTED, or with the reason of the signal if the reason is a ProviderError. With this
   * reason, the owner of the signal decides whether the agent counts as failed, for example after a timeout.
   */
  signal?: AbortSignal;
  budget?: CallBudget;
  /** Identifies the conversation. All its messages have the same id. */
  conversationId?: string;
  /** The conversation of the caller, for a message that begins one with the agent. */
  contextId?: string;
  /** Identifies the call. All attempts have the same id, so that the agent can recognise a repetition. */
  callId?: string;
  /** An earlier attempt has sent the message, and the agent has accepted it as this task. The agent is asked for it; nothing is sent. */
  task?: RemoteTask;
  /** An earlier attempt may have sent the message. An agent that still works on it may ask to send it again later. */
  isRepeated?: boolean;
  /** What earlier calls of the conversation have reported. Some agents report the usage of all of them together. */
  usedBefore?: AgentUsage;
  /** The run that the call belongs to. Absent if the caller has no run. */
  context?: CallContext;
}

/** The usage of the whole call. An unknown count is undefined, never 0. */
export interface AgentUsage extends ModelUsage {
  costMicroUsd?: number;
  byModel?: Record<string, ModelUsage & { costMicroUsd?: number }>;
}

/** A tool call that waits for an approval of exactly this input. */
interface RequestedApproval {
  readonly callId: string;
  readonly tool: string;
  readonly input: unknown;
  /** Names the question; a decision contains it. */
  readonly inputHash: string;
  /** Who may decide. Absent: an operator. */
  readonly approve?: 'operator' | 'caller';
}

interface ResultBase {
  /** The whole answer, including the parts of all artifacts. `textOfParts` returns its text. */
  readonly parts: readonly ContentPart[];
  readonly usage: AgentUsage;
  readonly conversationId?: string;
}

/**
 * How a call ended. A refusal and a limit are results, not errors, because the agent worked correctly and its usage must
 * be charged.
 */
export type AgentOutcome =
  /** `input-required`: the agent asks a question. It continues with the next message of the conversation. */
  | { readonly outcome: 'completed' | 'input-required' }
  /** The agent decided not to do what the message asks for. The parts contain its reason. */
  | { readonly outcome: 'refused' }
  /** A limit ended the call before the final answer. The parts contain the partial answer. */
  | { readonly outcome: 'stopped'; readonly reason: string; readonly detail: string }
  /** The agent continues after an operator has decided about these tool calls. */
  | { readonly outcome: 'waiting'; readonly approvals: readonly RequestedApproval[] };

export type AgentResult = ResultBase & AgentOutcome;

/**
 * A piece of an artifact, which is an output with an identity, such as a report. The first chunk of an artifact and a
 * chunk with `append: false` replace its parts; other chunks add parts at the end.
 */
export interface ArtifactChunk {
  readonly id: string;
  readonly name?: string;
  readonly parts: readonly ContentPart[];
  readonly append: boolean;
  /** Whether the agent has declared the artifact complete. At the end of the call, all artifacts are complete. */
  readonly last: boolean;
}

/** What an agent reports while it handles a message. The last event is `finished`. */
export type AgentEvent =
  /** The agent has accepted the message as a task of its own, which is not finished. Nothing precedes this event that it does not repeat. */
  | { type: 'accepted'; task: RemoteTask }
  /** The task waits for an authorization outside of this conversation. `required: false`: the agent continues. */
  | { type: 'authorization'; required: boolean; parts: readonly ContentPart[] }
  /** A piece of the answer. With `artifactId`, the next chunk of that artifact contains the same text. */
  | { type: 'text'; text: string; artifactId?: string }
  | { type: 'artifact'; artifact: ArtifactChunk }
  /** What the agent is currently doing, for humans. */
  | { type: 'progress'; text: string }
  | { type: 'tool-call'; id: string; name: string; input: unknown }
  | { type: 'tool-result'; id: string; name: string; output: string; failed?: boolean }
  | { type: 'finished'; result: AgentResult };

/** An invitation to bid for a contract. */
export interface BidInvitation {
  readonly contractId: string;
  readonly capabilities: readonly string[];
  /** What the winner has to do, as the announcer wrote it. */
  readonly task: string;
  /** When the auction closes, as an ISO date. */
  readonly deadline: string;
  /** In micro-dollars; null means no limit. */
  readonly maxPrice: number | null;
  readonly maxEtaMs: number | null;
}

/** The answer to an invitation. `price` is in micro-dollars, and `confidence` is from 0 to 1. */
export type AgentBid =
  | { readonly price: number; readonly etaMs: number; readonly confidence: number; readonly note?: string }
  | { readonly refuse: true; readonly note?: string };

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
  /**
   * Bids for a contract, or refuses. The signal is aborted at the deadline. An agent without this method refuses all contracts. A bid
   * is binding: an agent that wins receives the task with `handle`.
   */
  bid?(invitation: BidInvitation, signal: AbortSignal): Promise<AgentBid>;
  /** Called when the agent did not win a contract that it bid for, because another agent or no agent won it. */
  lost?(contractId: string): void;
}
