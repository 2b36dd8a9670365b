// @ts-check
/** Checks that Rollcall has signed a call. With the package jose this takes three lines: see docs/agents-work.md. */
import { createPublicKey, verify } from 'node:crypto';

/** @type {Map<string, import('node:crypto').JsonWebKey>} */
const known = new Map();

/** The public key with this id. A key that is not known is read once more, because it may be new. @param {string} url @param {string} kid */
async function keyOf(url, kid) {
  if (!known.has(kid)) {
    const { keys } = /** @type {any} */ (await (await fetch(`${url}/.well-known/jwks.json`)).json());
    for (const key of keys) known.set(key.kid, key);
  }
  return known.get(kid);
}

/**
 * Whether the Rollcall at `url` has signed this token, for this agent, within the last minutes.
 * @param {string} url @param {string} agentId @param {unknown} token The header `Rollcall-Token`.
 */
export async function isGenuine(url, agentId, token) {
  try {
    const [head = '', body = '', signature = ''] = String(token).split('.');
    const [header, claims] = [head, body].map((part) => JSON.parse(String(Buffer.from(part, 'base64url'))));
    const jwk = header.alg === 'ES256' && (await keyOf(url, String(header.kid)));
    if (!jwk) return false;
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const signed = { key, dsaEncoding: /** @type {const} */ ('ieee-p1363') };
    const isSigned = verify('sha256', Buffer.from(`${head}.${body}`), signed, Buffer.from(signature, 'base64url'));
    return isSigned && claims.iss === url && claims.aud === agentId && claims.exp > Date.now() / 1000;
  } catch {
    return false; // not a token
  }
}
