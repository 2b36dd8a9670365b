import type { ModelMessage, ModelReply, ToolCallPart } from '#rollcall/providers';

/**
 * One entry of a run, in the order in which the run makes progress. The loop yields a step and continues only when its reader asks for
 * the next event, so a reader that stores each step before it continues can resume the run after a crash (B6).
 */
export type Step =
  /** The conversation before the first turn, or a message that continues it. */
  | { readonly type: 'message-received'; readonly messages: readonly ModelMessage[] }
  /** A paid reply of the model. */
  | { readonly type: 'model-replied'; readonly turn: number; readonly reply: ModelReply }
  /** A tool call begins. Without a `tool-finished` step, it was in progress when the run ended. */
  | { readonly type: 'tool-called'; readonly turn: number; readonly call: ToolCallPart; readonly idempotent: boolean }
  | {
      readonly type: 'tool-finished';
      readonly turn: number;
      readonly callId: string;
      readonly name: string;
      readonly output: string;
      readonly failed?: boolean;
    }
  /** An operator decided about a tool call that needs approval. The decision holds for exactly this input. */
  | {
      readonly type: 'approval-decided';
      readonly callId: string;
      readonly inputHash: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  /** The first messages were replaced by a summary, because the conversation did not fit the context window. */
  | { readonly type: 'context-summarised'; readonly replaced: number; readonly summary: string };
