import type { AssistantPart, ModelMessage, ToolCallPart } from './message.js';

export interface ToolDeclaration {
  name: string;
  description?: string;
  /** JSON Schema of the input. */
  inputSchema: Record<string, unknown>;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string };
type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ModelSettings {
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  stopSequences?: string[];
  seed?: number;
  /** How much reasoning the model may use. */
  effort?: Effort;
}

/** A request to a model: the conversation, and what the model may call. */
export interface ModelRequest {
  messages: ModelMessage[];
  tools?: ToolDeclaration[];
  toolChoice?: ToolChoice;
  settings?: ModelSettings;
  /** Requests JSON with this schema instead of text. */
  output?: { name?: string; schema: Record<string, unknown> };
}

export interface ModelCallOptions {
  signal?: AbortSignal;
}

/**
 * `length`: the answer reached the token limit. `tool-calls`: the model requests tool calls. `refusal`: the model or a
 * filter of the vendor refused to answer. `other`: any other reason.
 */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'other';

/** The complete answer of a model. */
export interface ModelReply {
  content: AssistantPart[];
  finish: FinishReason;
  usage: ModelUsage;
  /** The id that the vendor assigned to the answer. */
  id?: string;
  /** The model that answered, if the vendor reports it. */
  model?: string;
}

export type ModelEvent =
  | { type: 'text'; text: string }
  | { type: 'reasoning'; text: string }
  | { type: 'tool-call-started'; id: string; name: string }
  | { type: 'tool-call-input'; id: string; text: string }
  | { type: 'tool-call'; call: ToolCallPart }
  | { type: 'finished'; reply: ModelReply };

/**
 * Executes one model call, without retries, fallbacks or budgets. It returns a complete reply or throws a
 * ProviderError; an incomplete stream is an error and never a short reply. When the signal is aborted, the call ends
 * immediately with CALL_ABORTED and releases all its resources.
 */
export interface ModelProvider {
  readonly vendor: string;
  readonly model: string;

  complete(request: ModelRequest, options?: ModelCallOptions): Promise<ModelReply>;

  /**
   * Ends with exactly one `finished` event, whose reply equals the reply of `complete`. The call ends when the caller
   * stops reading.
   */
  stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelEvent>;
}

/**
 * The tokens that a call used. A count that the vendor did not report is undefined, never 0, because a budget must
 * distinguish "none" from "unknown". `inputTokens` includes tokens that were read from or written to a cache.
 * `outputTokens` includes reasoning tokens.
 */
export interface ModelUsage {
  inputTokens?: number;
  outputTokens?: number;
  cacheReadTokens?: number;
  cacheWriteTokens?: number;
  reasoningTokens?: number;
}

const COUNTS = ['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'reasoningTokens'] as const;

/** Adds two usages. If a count is unknown in one of them, it is unknown in the sum. */
export function addUsage(one: ModelUsage, other: ModelUsage): ModelUsage {
  const sum: ModelUsage = {};
  for (const count of COUNTS) {
    const [left, right] = [one[count], other[count]];
    if (left !== undefined && right !== undefined) sum[count] = left + right;
  }
  return sum;
}
