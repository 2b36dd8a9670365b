import { jsonProblem } from './json.check.js';
import { storable } from './storable.text.js';

/** What the model receives for a tool call. */
export interface ToolOutput {
  readonly output: string;
  readonly failed: boolean;
}

/** A value that is much larger than the output limit is not converted to text at all, because that would block the process. */
const CONVERTED_PER_SHOWN = 8;
const MIN_CONVERTED_BYTES = 1 << 20;

/** Converts the value that a tool returned. A text is not changed, and any other value becomes JSON. A result that is too long is cut. */
export function toOutput(value: unknown, maxChars: number): ToolOutput {
  if (typeof value === 'string') return { output: shortened(value, maxChars), failed: false };
  if (value === undefined) return { output: 'The tool returned no value.', failed: false };
  const maxBytes = Math.max(MIN_CONVERTED_BYTES, maxChars * CONVERTED_PER_SHOWN);
  const problem = jsonProblem(value, { maxBytes, rejectsReservedNames: false });
  if (problem !== undefined) return failedOutput(`The tool returned a value that ${problem}.`, maxChars);
  return { output: shortened(JSON.stringify(value) ?? 'null', maxChars), failed: false };
}

export function failedOutput(text: string, maxChars: number): ToolOutput {
  return { output: shortened(text, maxChars), failed: true };
}

/** The text without characters that Postgres cannot store, and cut at the limit, with a notice for the model. */
function shortened(text: string, maxChars: number): string {
  if (text.length <= maxChars) return storable(text);
  const notice = `\n[Cut: these are the first ${maxChars} of ${text.length} characters. Request smaller parts if you need the rest.]`;
  return storable(copied(text.slice(0, maxChars))) + notice;
}

/** Copies the text. A slice refers to the whole text, and would keep it in memory until the run ends. */
function copied(slice: string): string {
  return Buffer.from(slice, 'utf16le').toString('utf16le');
}
