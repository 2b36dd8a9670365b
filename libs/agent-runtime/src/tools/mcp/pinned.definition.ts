import type { McpToolDefinition } from '#rollcall/providers';
import { inputHashOf } from '../input.hash.js';
import { jsonProblem } from '../json.check.js';
import { storable } from '../storable.text.js';

/** What a model reads about a tool. The hash of the name and of exactly these fields is pinned. */
export interface PinnedDefinition {
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface SeenTool {
  /** The name at the server. */
  readonly tool: string;
  readonly hash: string;
  readonly definition: PinnedDefinition;
}

const MAX_DEFINITION_BYTES = 32 * 1_024;
const MAX_NAME_CHARS = 128;
const UNPRINTABLE = /[\p{C}]/u;

/** Returns the tool with its hash, or why it cannot be used. */
export function toSeenTool({ name, description, inputSchema }: McpToolDefinition): SeenTool | string {
  if (name === '' || name.length > MAX_NAME_CHARS || UNPRINTABLE.test(name))
    return `Its name is empty, longer than ${MAX_NAME_CHARS} characters, or has control characters.`;
  const definition = { description: storable(description), inputSchema };
  const problem = jsonProblem(definition, { maxBytes: MAX_DEFINITION_BYTES, rejectsReservedNames: true });
  if (problem !== undefined) return `Its definition ${problem}.`;
  if (JSON.stringify(inputSchema).includes('\\u0000'))
    return 'Its definition contains a character that cannot be stored.';
  return { tool: name, hash: inputHashOf({ name, ...definition }), definition };
}
