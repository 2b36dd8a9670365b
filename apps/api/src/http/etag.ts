import { createHash } from 'node:crypto';

/** The value of the header `ETag` for this content. It is the same on all replicas. */
export function etagOf(content: string): string {
  return `"${createHash('sha256').update(content).digest('base64url').slice(0, 27)}"`;
}
