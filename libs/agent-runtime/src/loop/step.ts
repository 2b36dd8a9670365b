import type { ModelMessage, ModelReply, ModelUsage, ToolCallPart } from '#rollcall/providers';

/**
 * One entry of a run, in the order in which the run makes progress. The loop yields a step and continues only when its reader asks for
 * the next event, so a reader that stores each step before it continues can resume the run after a crash (B6).
 */
export type Step =
  /**
   * The conversation before the first turn, or a message that continues it. The owner of the run records the messages of the caller.
   * `isCorrection` marks a message of the loop itself, which asks the model to correct an empty or invalid answer.
   */
  | { readonly type: 'message-received'; readonly messages: readonly ModelMessage[]; readonly isCorrection?: true }
  /** A paid reply of the model. `isFinal` marks the reply to the last call of a run that reached its budget. */
  | { readonly type: 'model-replied'; readonly turn: number; readonly reply: ModelReply; readonly isFinal?: true }
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
  /**
   * The messages after the first message of the user were replaced by a summary, because the conversation did not fit the context
   * window. The summary is a paid reply of the model and counts as a turn.
   */
  | {
      readonly type: 'context-summarised';
      readonly turn: number;
      readonly replaced: number;
      readonly summary: string;
      readonly usage: ModelUsage;
    };
