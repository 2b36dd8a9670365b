import type { RunContext } from '../loop/run.context.js';
import type { RunMemory } from './run.memory.js';

/** The context of a call, for the tool. */
export interface ToolContext {
  readonly run: RunContext;
  /** The number of the model reply that contains the call. */
  readonly turn: number;
  /**
   * The id of the call. It is stable across attempts and restarts. Some vendors use the same ids again in a later turn, so a tool that
   * must recognise a repeated call compares the run, the turn and the id.
   */
  readonly callId: string;
  /** Aborted when the run is cancelled or the time limit of the tool has passed. */
  readonly signal: AbortSignal;
  /** Values that the tools of one run share. */
  readonly memory: RunMemory;
  /** Reports what the tool is doing, for humans. */
  progress(text: string): void;
}

/** The input after validation, or a text that tells the model what to correct. */
export type ParsedInput =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: string };

/** A function that a model can call. `defineTool` and `@Tool()` create tools with the defaults. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. It is sent to the model. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  parse(input: unknown): ParsedInput | Promise<ParsedInput>;
  /** Whether the call may be repeated after a crash. */
  readonly idempotent: boolean;
  /** Whether an operator must approve each call. */
  readonly needsApproval: boolean;
  readonly timeoutMs?: number;
  /** Returns a text, or JSON. An error that it throws is reported to the model. */
  execute(input: unknown, context: ToolContext): unknown;
}

/** A named group of tools. It may offer other tools in another context, for example none at the maximum delegation depth. */
export interface ToolBox {
  readonly name: string;
  tools(context: RunContext): readonly Tool[];
}
