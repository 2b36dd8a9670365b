import { createPublicKey, type JsonWebKey, verify as verifyBytes } from 'node:crypto';

export type Jwks = { keys: (JsonWebKey & { kid: string })[] };
export type SignedCard = Record<string, unknown> & { signatures: { protected: string; signature: string }[] };

/** Verifies each signature as RFC 7515 and RFC 8785 define it, with the cryptography of Node. */
export function verifications({ signatures, ...card }: SignedCard, keys: Jwks['keys']): boolean[] {
  const payload = Buffer.from(canonical(card)).toString('base64url');
  return signatures.map((one) => {
    const { kid } = JSON.parse(Buffer.from(one.protected, 'base64url').toString()) as { kid: string };
    const jwk = keys.find((known) => known.kid === kid);
    const publicKey = createPublicKey({ key: jwk as never, format: 'jwk' });
    const text = Buffer.from(`${one.protected}.${payload}`);
    return verifyBytes(
      'sha256',
      text,
      { key: publicKey, dsaEncoding: 'ieee-p1363' },
      Buffer.from(one.signature, 'base64url'),
    );
  });
}

/** JSON with sorted keys. JSON.stringify writes numbers and texts as RFC 8785 requires. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join()}}`;
}
