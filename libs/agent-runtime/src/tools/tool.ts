import { SetMetadata } from '@nestjs/common';
import type { RunContext } from '../loop/run.context.js';
import type { ParsedInput } from './input/input.reader.js';
import { type InputOf, readerOf, type ToolInput } from './input/tool.input.js';
import type { RunMemory } from './run.memory.js';
import type { Approver } from './approver.js';
import { ToolInvalidError, ToolNameTakenError } from './tool.errors.js';

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

/** A function that a model can call. `defineTool` and the decorator `@Tool()` create tools with the defaults. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the input. It is sent to the model. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  parse(input: unknown): ParsedInput | Promise<ParsedInput>;
  /** Whether the call may be repeated after a crash. */
  readonly idempotent: boolean;
  /** Whether each call must be approved. */
  readonly needsApproval: boolean;
  /** Who may approve a call. Absent: an operator. */
  readonly approve?: Approver;
  readonly timeoutMs?: number;
  /** Called when a call has reached its time limit. */
  onTimeout?(): void;
  /** Returns a text, or JSON. An error that it throws is reported to the model. */
  execute(input: unknown, context: ToolContext): unknown;
}

interface ToolTraits {
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** Whether the call may be repeated after a crash. The default is false. */
  readonly idempotent?: boolean;
  /** Whether each call must be approved. The default is false. */
  readonly needsApproval?: boolean;
  /** Who may approve a call; implies `needsApproval`. The default is an operator; `caller` also accepts the caller of the run. */
  readonly approve?: Approver;
  /** Replaces the default time limit. */
  readonly timeoutMs?: number;
}

interface ToolDefinition<Input extends ToolInput | undefined> extends ToolTraits {
  readonly name: string;
  /** A Standard Schema such as a zod schema, a class with decorators of class-validator, or a JSON Schema with a function. */
  readonly input?: Input;
  execute(input: InputOf<Input>, context: ToolContext): unknown;
}

/** Creates a tool. Its schema is compiled once, here. Throws TOOL_INVALID if the definition cannot be used. */
export function defineTool<Input extends ToolInput | undefined = undefined>(definition: ToolDefinition<Input>): Tool {
  const { name, description, timeoutMs, approve } = definition;
  checkToolName(name);
  if (description.trim() === '') throw new ToolInvalidError(`The tool ${name} has no description. Add one.`);
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS))
    throw new ToolInvalidError(`The time limit of the tool ${name} must be between 1 and ${MAX_TIMEOUT_MS} ms.`);
  return {
    name,
    description,
    ...readerOf(name, definition.input),
    idempotent: definition.idempotent ?? false,
    needsApproval: definition.needsApproval === true || approve !== undefined,
    ...(approve !== undefined && { approve }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: (input, context) => definition.execute(input as InputOf<Input>, context),
  };
}

/** The longest delay of a timer. A timer with a longer delay would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

export interface ToolOptions extends ToolTraits {
  /** The default is the name of the method. */
  readonly name?: string;
  /** The default is the class of the first parameter, which must have decorators of class-validator. */
  readonly input?: ToolInput;
}

/** The metadata key of the options of `@Tool`. */
export const TOOL = 'rollcall:tool';

/**
 * Makes a method of a provider a tool. The method receives the input after validation and a `ToolContext`. All tools of a provider
 * form one toolbox.
 */
export function Tool(options: ToolOptions): MethodDecorator {
  return SetMetadata(TOOL, options);
}

/** A named group of tools. It may offer other tools in another context, for example none at the maximum delegation depth. */
export interface ToolBox {
  readonly name: string;
  tools(context: RunContext): readonly Tool[];
  /**
   * Whether the agent has the tools even if the list of its own tools does not name them, because something else gave them to it: its parent,
   * its skills, or the permission to ask. What the agent must not use, it does not have in any case.
   */
  readonly isGranted?: boolean;
  /** Whether agents of this namespace can use the toolbox. Absent: all agents can. */
  isFor?(namespace: string): boolean;
}

/** A toolbox with the same tools in every context. */
export function toolBox(name: string, tools: readonly Tool[]): ToolBox {
  checkToolName(name);
  const names = new Set<string>();
  for (const tool of tools) {
    checkToolName(tool.name);
    if (names.has(tool.name)) throw new ToolNameTakenError(name, tool.name);
    names.add(tool.name);
  }
  const all = Object.freeze([...tools]);
  return { name, tools: () => all };
}

/** The names that all model vendors accept. */
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Throws TOOL_INVALID if a vendor would reject the name. */
export function checkToolName(name: string): void {
  if (TOOL_NAME.test(name)) return;
  throw new ToolInvalidError(
    `A tool cannot be named ${JSON.stringify(name.slice(0, 100))}. Use 1 to 64 letters, digits, underscores and hyphens.`,
  );
}
