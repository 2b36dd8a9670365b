import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** Identifies an input by its content: equal JSON has the same hash, whatever the order of its keys. Approvals use it. */
export function inputHashOf(input: unknown): string {
  // as JSON first, because `canonicalize` rejects the number 1e999 of a JSON text, which JSON.stringify writes as null
  const json: unknown = JSON.parse(JSON.stringify(input) ?? 'null');
  return createHash('sha256')
    .update(canonicalize(json) ?? '')
    .digest('hex');
}
