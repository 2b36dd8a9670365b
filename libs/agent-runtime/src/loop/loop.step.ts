import type { ModelMessage, ModelReply, ModelUsage, ToolCallPart } from '#rollcall/providers';
import type { Charge } from '../spending/spending.js';
import type { MemoryChange } from '../tools/run.memory.js';

/**
 * One entry of a run, in the order in which the run makes progress. The reader of the loop adds the steps to what the `RunWriter` of the
 * run stores. They are stored before the next model call and before tools are executed, so the run can be resumed after a crash (B6).
 */
export type LoopStep =
  /**
   * The conversation before the first turn, or a message that continues it. The owner of the run records the messages of the caller.
   * `isCorrection` marks a message of the loop itself, which asks the model to correct an empty or invalid answer.
   */
  | { readonly type: 'message-received'; readonly messages: readonly ModelMessage[]; readonly isCorrection?: true }
  /**
   * A reply of the model. `isFinal` marks the reply to the last call of a run that reached its budget, and `shortage` states what was
   * missing. `charges` lists what the reply costs; the budget middleware adds it.
   */
  | {
      readonly type: 'model-replied';
      readonly turn: number;
      readonly reply: ModelReply;
      readonly isFinal?: true;
      readonly shortage?: string;
      readonly charges?: readonly Charge[];
    }
  /** A tool call begins. If no `tool-finished` step follows, the call was in progress when the run was interrupted. */
  | { readonly type: 'tool-called'; readonly turn: number; readonly call: ToolCallPart; readonly idempotent: boolean }
  /**
   * `memory` contains what the call changed in the memory of the run. `inputHash` is present if somebody recorded the result after an
   * interruption; it names the question.
   */
  | {
      readonly type: 'tool-finished';
      readonly turn: number;
      readonly callId: string;
      readonly name: string;
      readonly output: string;
      readonly failed?: boolean;
      readonly memory?: readonly MemoryChange[];
      readonly inputHash?: string;
    }
  /** Somebody decided about a call. `inputHash` names the question: the decision holds for exactly this input in this turn, once. */
  | {
      readonly type: 'approval-decided';
      readonly callId: string;
      readonly inputHash: string;
      readonly approved: boolean;
      readonly reason?: string;
    }
  /**
   * The messages after the first message of the user were replaced by a summary, because the conversation did not fit the context
   * window. The summary is a paid reply of the model and counts as a turn. `earlier` states how many messages at the beginning came from
   * earlier runs of the conversation.
   */
  | {
      readonly type: 'context-summarised';
      readonly turn: number;
      readonly replaced: number;
      readonly earlier?: number;
      readonly summary: string;
      readonly usage: ModelUsage;
      readonly charges?: readonly Charge[];
    };

/** An event of a run in progress. Readers can rely on steps; all other events may be lost. */
export type LoopEvent =
  | { readonly type: 'step'; readonly step: LoopStep }
  /** A piece of the answer while the model generates it. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** What a tool or a delegated agent is doing, for humans. */
  | { readonly type: 'progress'; readonly text: string; readonly agentName: string };
