import { AgentCard } from '@a2a-js/sdk';
import { Injectable } from '@nestjs/common';
import canonicalize from 'canonicalize';
import { FlattenedSign } from 'jose';
import { InstallationKeys, SIGNATURE_ALGORITHM, type SigningKey } from '../signing/installation.keys.js';
import { PublicUrl } from '../../http/public.url.js';

export const JWKS_PATH = '.well-known/jwks.json';

/**
 * Signs cards with all configured keys, so that a card verifies before, during and after a rotation. The signature covers exactly the
 * JSON that is served; a signature by the SDK would not cover the security schemes.
 */
@Injectable()
export class CardSigner {
  constructor(
    private readonly urls: PublicUrl,
    private readonly keys: InstallationKeys,
  ) {}

  /** The JSON of the card with its signatures. */
  async sign(card: AgentCard): Promise<object> {
    const json = withoutEmpty(AgentCard.toJSON(card)) as object;
    const content = new TextEncoder().encode(canonicalize(json)); // RFC 8785
    const signatures = await Promise.all(
      (await this.keys.ofOperator()).map(async (key) => await this.signature(content, key)),
    );
    return signatures.length > 0 ? { ...json, signatures } : json;
  }

  private async signature(content: Uint8Array, key: SigningKey): Promise<{ protected?: string; signature: string }> {
    const header = { alg: SIGNATURE_ALGORITHM, kid: key.kid, typ: 'JOSE', jku: this.urls.of(`/${JWKS_PATH}`) };
    const { protected: protectedHeader, signature } = await new FlattenedSign(content)
      .setProtectedHeader(header)
      .sign(key);
    return { protected: protectedHeader, signature };
  }

  /** The ids of all keys as one text, which changes when a key is rotated. */
  async keyIds(): Promise<string> {
    return (await this.keys.ofOperator()).map(({ kid }) => kid).join(' ');
  }
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
