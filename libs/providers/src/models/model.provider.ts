import type { AssistantPart, ModelMessage, ToolCallPart } from './message.js';
import type { ModelUsage } from './usage.js';

export interface ToolDeclaration {
  name: string;
  description?: string;
  /** JSON Schema of the input. */
  inputSchema: Record<string, unknown>;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string };
export type Effort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ModelSettings {
  maxOutputTokens?: number;
  temperature?: number;
  topP?: number;
  stopSequences?: string[];
  seed?: number;
  /** How much the model may think before it answers. */
  effort?: Effort;
}

export interface ModelRequest {
  messages: ModelMessage[];
  tools?: ToolDeclaration[];
  toolChoice?: ToolChoice;
  settings?: ModelSettings;
  /** Ask for JSON of this shape instead of prose. */
  output?: { name?: string; schema: Record<string, unknown> };
}

export interface ModelCallOptions {
  signal?: AbortSignal;
}

/**
 * `length`: cut off at the token limit. `tool-calls`: wants its tools run. `refusal`: the model or a filter of the vendor
 * declined. `other`: an end this code has no word for.
 */
export type FinishReason = 'stop' | 'length' | 'tool-calls' | 'refusal' | 'other';

export interface ModelReply {
  content: AssistantPart[];
  finish: FinishReason;
  usage: ModelUsage;
  /** The vendor's own id of the answer, and the model that really answered, where stated. */
  id?: string;
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
 * Answers one model call, and nothing else: no retries, no fallback, no budget. It either gives a whole reply or throws a
 * ProviderError; a stream that was cut off is an error, never a short reply. Aborting the signal ends the call at once
 * with CALL_ABORTED, and then nothing of it is left behind.
 */
export interface ModelProvider {
  readonly vendor: string;
  readonly model: string;

  complete(request: ModelRequest, options?: ModelCallOptions): Promise<ModelReply>;

  /** Ends with exactly one `finished`, whose reply equals what `complete` would have answered. Leaving early ends the call. */
  stream(request: ModelRequest, options?: ModelCallOptions): AsyncIterable<ModelEvent>;
}
