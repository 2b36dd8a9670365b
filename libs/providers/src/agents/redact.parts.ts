import { redactDeep } from '../secret.js';
import { type ContentPart, textOfParts, textPart } from './content.part.js';

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
