import { AgentCard } from '@a2a-js/sdk';
import { Inject, Injectable } from '@nestjs/common';
import canonicalize from 'canonicalize';
import { calculateJwkThumbprint, FlattenedSign, type JWK } from 'jose';
import type { Config } from '../../config/config.schema.js';
import { CONFIG } from '../../config/config.token.js';
import { PublicUrl } from './public.url.js';

export const JWKS_PATH = '.well-known/jwks.json';
const ALGORITHM = 'ES256';

type SigningKey = JWK & { readonly kid: string };

/**
 * Signs cards with all configured keys, so that a card verifies before, during and after a rotation. The signature covers exactly the
 * JSON that is served; a signature by the SDK would not cover the security schemes.
 */
@Injectable()
export class CardSigner {
  private readonly keys: Promise<SigningKey[]>;

  constructor(
    private readonly urls: PublicUrl,
    @Inject(CONFIG) { a2a }: Config,
  ) {
    this.keys = Promise.all(a2a.signingKeys.map(withId));
  }

  /** The JSON of the card with its signatures. */
  async sign(card: AgentCard): Promise<object> {
    const json = withoutEmpty(AgentCard.toJSON(card)) as object;
    const content = new TextEncoder().encode(canonicalize(json)); // RFC 8785
    const signatures = await Promise.all((await this.keys).map(async (key) => await this.signature(content, key)));
    return signatures.length > 0 ? { ...json, signatures } : json;
  }

  private async signature(content: Uint8Array, key: SigningKey): Promise<{ protected?: string; signature: string }> {
    const header = { alg: ALGORITHM, kid: key.kid, typ: 'JOSE', jku: this.urls.of(`/${JWKS_PATH}`) };
    const { protected: protectedHeader, signature } = await new FlattenedSign(content)
      .setProtectedHeader(header)
      .sign(key);
    return { protected: protectedHeader, signature };
  }

  /** The ids of all keys as one text, which changes when a key is rotated. */
  async keyIds(): Promise<string> {
    return (await this.keys).map(({ kid }) => kid).join(' ');
  }

  /** The public keys. */
  async jwks(): Promise<{ keys: JWK[] }> {
    const keys = await this.keys;
    return { keys: keys.map(({ kty, crv, x, y, kid }) => ({ kty, crv, x, y, kid, alg: ALGORITHM, use: 'sig' })) };
  }
}

/** A key without an id gets its thumbprint, which is the same on all replicas. */
async function withId(key: Config['a2a']['signingKeys'][number]): Promise<SigningKey> {
  return { ...key, kid: key.kid ?? (await calculateJwkThumbprint(key)) };
}

/**
 * Removes null values, empty texts, empty lists and empty objects at all levels. The specification leaves them out of the signed
 * content, so a card without them has the same content for every verifier.
 */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return nonEmpty(value.map(withoutEmpty).filter((one) => one !== undefined));
  if (typeof value !== 'object' || value === null) return value === null || value === '' ? undefined : value;
  const entries = Object.entries(value).map(([name, inner]) => [name, withoutEmpty(inner)] as const);
  return nonEmpty(Object.fromEntries(entries.filter(([, inner]) => inner !== undefined)));
}

function nonEmpty<T extends object>(value: T): T | undefined {
  return Object.keys(value).length > 0 ? value : undefined;
}
