import type { Step } from './step.js';

/** An event of a run in progress. Readers can rely on steps; all other events may be lost. */
export type LoopEvent =
  | { readonly type: 'step'; readonly step: Step }
  /** A piece of the answer while the model generates it. */
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** What a tool or a delegated agent is doing, for humans. */
  | { readonly type: 'progress'; readonly text: string; readonly agentName: string };
