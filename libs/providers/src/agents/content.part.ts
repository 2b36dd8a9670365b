import { ProviderError } from '../errors.js';
import { redactDeep } from '../secrets/secret.js';

/** One part of a message, a result or an artifact. Plain JSON, so that it can be stored and sent. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** Any JSON value. */
  | { readonly type: 'data'; readonly data: unknown; readonly mediaType?: string }
  /** A file with its content in Base64. With `path`, it is put there in the workspace of the run, and the model does not get its content. */
  | {
      readonly type: 'file';
      readonly bytes: string;
      readonly mediaType: string;
      readonly name?: string;
      readonly path?: string;
    }
  /** A file at an address. Rollcall passes the address on and does not read it. */
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string; readonly name?: string };

/** Returns a part that contains this text. */
export function textPart(text: string): ContentPart {
  return { type: 'text', text };
}

/** A message with a text and, if given, a JSON value. */
export function message(text: string, data?: unknown): { readonly parts: readonly ContentPart[] } {
  return { parts: data === undefined ? [textPart(text)] : [textPart(text), { type: 'data', data }] };
}

/** The texts of all text parts, in order. */
export function textOfParts(parts: readonly ContentPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The values of all data parts, in order. */
export function dataOfParts(parts: readonly ContentPart[]): unknown[] {
  return parts.flatMap((part) => (part.type === 'data' ? [part.data] : []));
}

/** Removes keys from a text. */
export type Redact = (text: string) => string;

/** Removes keys from all parts, including a key that is split between texts, and a key in the content of a file. */
export function redactParts(parts: readonly ContentPart[], redact: Redact): ContentPart[] {
  const redacted = parts.map((part) => redactPart(part, redact));
  const text = textOfParts(redacted);
  const safeText = redact(text);
  if (safeText === text) return redacted;
  return [textPart(safeText), ...redacted.filter(({ type }) => type !== 'text')];
}

function redactPart(part: ContentPart, redact: Redact): ContentPart {
  if (part.type !== 'file' || !('bytes' in part)) return redactDeep(part, redact) as ContentPart;
  const { bytes, ...rest } = part;
  return { ...(redactDeep(rest, redact) as typeof rest), bytes: redactBytes(bytes, redact) };
}

/** Latin-1 maps every byte to one character, so a file without a key stays the same byte for byte. */
function redactBytes(base64: string, redact: Redact): string {
  const content = Buffer.from(base64, 'base64').toString('latin1');
  const safeContent = redact(content);
  return safeContent === content ? base64 : Buffer.from(safeContent, 'latin1').toString('base64');
}

/** Returns the message as one text, with data as JSON. Throws if the message contains a file, so that no part is dropped silently. */
export function textOnly({ parts }: { readonly parts: readonly ContentPart[] }, label: string): string {
  let text = '';
  for (const part of parts) {
    if (part.type === 'file') throw noFiles(label);
    text += part.type === 'text' ? part.text : `\n\n${JSON.stringify(part.data)}`;
  }
  return text;
}

function noFiles(label: string): ProviderError {
  return new ProviderError(
    'AGENT_REQUEST_REFUSED',
    `${label} accepts only text and JSON data. Send the content of the file as text.`,
  );
}
