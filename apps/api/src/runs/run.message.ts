import type { RunStreamEvent } from '#rollcall/agent-runtime';
import { type RunStepView, type RunView, toRunView, toStepView } from './run.view.js';

/** A piece of an answer. Pieces are not stored: the first step after `afterStep` replaces them. */
export interface RunPiece {
  readonly text: string;
  readonly afterStep: number;
}

/** One message of a stream, without its transport. */
export interface RunMessage {
  readonly type: RunStreamEvent['type'];
  readonly data: RunStepView | RunView | RunPiece;
}

export function toMessage(event: RunStreamEvent): RunMessage {
  if (event.type === 'step') return { type: 'step', data: toStepView(event.stored) };
  if (event.type === 'state') return { type: 'state', data: toRunView(event.run) };
  const { type, text, afterStep } = event;
  return { type, data: { text, afterStep } };
}
