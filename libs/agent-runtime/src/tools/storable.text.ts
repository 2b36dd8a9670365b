/** The text without the characters that Postgres cannot store: NUL, and half of a surrogate pair. */
export function storable(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '\uFFFD') : text).toWellFormed();
}
