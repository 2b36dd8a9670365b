import { type AssistantPart, type ContentPart, textPart } from '#rollcall/providers';
import type { RunResult } from './run.status.js';
import type { RunStep } from './run.step.js';

/**
 * The largest result that is stored, and the largest output of one step. A larger one slows down everybody who reads it: a read of 32 MB
 * takes a replica half a second.
 */
export const MAX_RESULT_BYTES = 1_024 * 1_024;
/** Room for the mark. */
const MARK_BYTES = 1_024;

/** The JSON value of the part that ends a result that was cut. */
interface TruncatedMark {
  readonly truncated: true;
  readonly originalBytes: number;
  readonly keptBytes: number;
}

/** The parts, or as many of them as fit and a data part that says how large the result was. A text is cut, any other part is left out. */
export function limitedParts(parts: readonly ContentPart[], limit = MAX_RESULT_BYTES): readonly ContentPart[] {
  const originalBytes = bytesOf(parts);
  if (originalBytes <= limit) return parts;
  const kept: ContentPart[] = [];
  let left = limit - MARK_BYTES;
  for (const part of parts) {
    const size = bytesOf(part) + 1;
    const shown =
      size <= left
        ? part
        : part.type === 'text'
          ? textPart(limitedText(part.text, left - bytesOf(textPart('')) - 1))
          : undefined;
    if (!shown || (shown.type === 'text' && shown.text === '' && shown !== part)) continue;
    kept.push(shown);
    left -= bytesOf(shown) + 1;
  }
  const mark: TruncatedMark = { truncated: true, originalBytes, keptBytes: bytesOf(kept) };
  return [...kept, { type: 'data', data: mark }];
}

export function limitedResult(result: RunResult): RunResult {
  const parts = limitedParts(result.parts);
  return parts === result.parts ? result : { ...result, parts };
}

/** What was received is cut. What a model wants to call is not: the executor rejects a call whose input is too large. */
export function limitedStep(step: RunStep): RunStep {
  if (step.type === 'finished') {
    const parts = limitedParts(step.result.parts);
    return parts === step.result.parts ? step : { ...step, result: { ...step.result, parts } };
  }
  if (step.type === 'tool-finished' || step.type === 'tool-result')
    return fits(step.output) ? step : { ...step, output: markedText(step.output) };
  if (step.type !== 'model-replied') return step;
  const { content } = step.reply;
  const limited = content.map(limitedPart);
  return limited.every((part, at) => part === content[at])
    ? step
    : { ...step, reply: { ...step.reply, content: limited } };
}

function limitedPart(part: AssistantPart): AssistantPart {
  return part.type === 'tool-call' || fits(part.text) ? part : { ...part, text: markedText(part.text) };
}

function fits(text: string): boolean {
  // JSON needs at most six bytes for one code unit
  return text.length * 6 <= MAX_RESULT_BYTES || bytesOf(text) <= MAX_RESULT_BYTES;
}

function markedText(text: string): string {
  return `${limitedText(text, MAX_RESULT_BYTES - MARK_BYTES)}\n[truncated: the text had ${bytesOf(text)} bytes]`;
}

/** The beginning of a text that needs at most this many bytes as JSON, without its quotes. */
function limitedText(text: string, bytes: number): string {
  let [low, high] = [0, Math.max(0, Math.min(text.length, bytes))];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (bytesOf(text.slice(0, middle)) - 2 <= bytes) low = middle;
    else high = middle - 1;
  }
  return /[\uD800-\uDBFF]$/.test(text.slice(0, low)) ? text.slice(0, low - 1) : text.slice(0, low);
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
