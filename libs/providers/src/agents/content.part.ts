/** One part of a message, a result or an artifact. Plain JSON, so that it can be stored and sent. */
export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  /** Any JSON value. */
  | { readonly type: 'data'; readonly data: unknown; readonly mediaType?: string }
  /** A file with its content in Base64. */
  | { readonly type: 'file'; readonly bytes: string; readonly mediaType: string; readonly name?: string }
  /** A file at an address. Rollcall passes the address on and does not read it. */
  | { readonly type: 'file'; readonly url: string; readonly mediaType: string; readonly name?: string };

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
