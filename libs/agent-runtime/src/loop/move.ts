import type { ToolCallPart } from '#rollcall/providers';
import type { RunOutcome } from './run.outcome.js';
import type { Step } from './step.js';

/** What a run does next. The run continues after every move except `end`. */
export type Move =
  | { readonly type: 'call-model' }
  /** A summary replaces this number of messages. */
  | { readonly type: 'summarise'; readonly count: number }
  | { readonly type: 'record'; readonly steps: readonly Step[] }
  | { readonly type: 'execute'; readonly calls: readonly ToolCallPart[] }
  /** The model has given its final answer. */
  | { readonly type: 'answer'; readonly text: string }
  | { readonly type: 'end'; readonly outcome: RunOutcome };
