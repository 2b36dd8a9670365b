import { type InputOf, readerOf, type ToolInput } from './input/tool.input.js';
import { ToolInvalidError } from './tool.errors.js';
import type { Tool, ToolContext } from './tool.js';
import { checkToolName } from './tool.name.js';

export interface ToolTraits {
  /** Tells the model what the tool does and when to use it. */
  readonly description: string;
  /** Whether the call may be repeated after a crash. The default is false. */
  readonly idempotent?: boolean;
  /** Whether an operator must approve each call. The default is false. */
  readonly needsApproval?: boolean;
  /** Replaces the default time limit. */
  readonly timeoutMs?: number;
}

export interface ToolDefinition<Input extends ToolInput | undefined> extends ToolTraits {
  readonly name: string;
  /** A Standard Schema such as a zod schema, a class with decorators of class-validator, or a JSON Schema with a function. */
  readonly input?: Input;
  execute(input: InputOf<Input>, context: ToolContext): unknown;
}

/** Creates a tool. Its schema is compiled once, here. Throws TOOL_INVALID if the definition cannot be used. */
export function defineTool<Input extends ToolInput | undefined = undefined>(definition: ToolDefinition<Input>): Tool {
  const { name, description, timeoutMs } = definition;
  checkToolName(name);
  if (description.trim() === '') throw new ToolInvalidError(`The tool ${name} has no description. Add one.`);
  if (timeoutMs !== undefined && !(timeoutMs > 0 && timeoutMs <= MAX_TIMEOUT_MS))
    throw new ToolInvalidError(`The time limit of the tool ${name} must be between 1 and ${MAX_TIMEOUT_MS} ms.`);
  return {
    name,
    description,
    ...readerOf(name, definition.input),
    idempotent: definition.idempotent ?? false,
    needsApproval: definition.needsApproval ?? false,
    ...(timeoutMs !== undefined && { timeoutMs }),
    execute: (input, context) => definition.execute(input as InputOf<Input>, context),
  };
}

/** The longest delay of a timer. A timer with a longer delay would fire at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
