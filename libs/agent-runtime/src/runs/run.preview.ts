import type { ContentPart } from '#rollcall/providers';
import { isFinal, type RunResult, type RunStatus } from './run.status.js';

/** The text of a preview has at most this many characters. */
export const PREVIEW_CHARS = 200;
const EXPLANATION_CHARS = 500;

/** What a list shows of the contents of a run. It is stored with the run, so that a list does not read the contents. */
export interface ContentPreview {
  /** The beginning of the texts; without a text, the beginning of the data as JSON. */
  readonly text: string;
  /** The number of parts. */
  readonly parts: number;
  /** The size of the parts as JSON. */
  readonly bytes: number;
  /** Whether the contents are more than this text. */
  readonly truncated: boolean;
}

export interface ResultPreview extends ContentPreview {
  readonly reason?: string;
  readonly detail?: string;
  readonly error?: { readonly code: string; readonly message: string };
  /** How many calls wait for a decision. */
  readonly approvals?: number;
}

export function previewOf(parts: readonly ContentPart[]): ContentPreview {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []));
  const data = parts.find((part) => part.type === 'data');
  const whole = texts.length > 0 || !data ? texts.join('') : JSON.stringify(data.data);
  const text = cut(whole, PREVIEW_CHARS);
  const isWhole = texts.length === parts.length && text.length === whole.length;
  return { text, parts: parts.length, bytes: Buffer.byteLength(JSON.stringify(parts)), truncated: !isWhole };
}

export function resultPreviewOf({ parts, reason, detail, approvals, error }: RunResult): ResultPreview {
  return {
    ...previewOf(parts),
    ...(reason !== undefined && { reason }),
    ...(detail !== undefined && { detail: cut(detail, EXPLANATION_CHARS) }),
    ...(error && { error: { code: error.code, message: cut(error.message, EXPLANATION_CHARS) } }),
    ...(approvals && { approvals: approvals.length }),
  };
}

/** Like `currentResult`: a run that continues, or that was cancelled, has only the answer so far. */
export function currentPreview(state: RunStatus, preview: ResultPreview | null): ResultPreview | null {
  if (preview === null || state === 'waiting') return preview;
  const { approvals: _decided, ...ended } = preview;
  if (isFinal(state) && state !== 'cancelled') return ended;
  const { text, parts, bytes, truncated } = preview;
  return { text, parts, bytes, truncated };
}

/** Does not cut a character of two code units in half. */
function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return /[\uD800-\uDBFF]/.test(text.charAt(chars - 1)) ? text.slice(0, chars - 1) : text.slice(0, chars);
}
