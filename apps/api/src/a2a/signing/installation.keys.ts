import { Inject, Injectable, Logger } from '@nestjs/common';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose';
import { Database } from '#rollcall/platform';
import { Secret } from '#rollcall/providers';
import type { Config } from '../../config/config.schema.js';
import { CONFIG } from '../../config/config.token.js';
import { SecretsService } from '../../secrets/secrets.service.js';

export const SIGNATURE_ALGORITHM = 'ES256';

/** A private key. Its id is the same on all replicas. */
export type SigningKey = JWK & { readonly kid: string };

const OWNER = 'installation-key';
const READ = 'SELECT sealed FROM installation_key WHERE id = 1';
const ADD = 'INSERT INTO installation_key (id, sealed) VALUES (1, $1) ON CONFLICT DO NOTHING';

/**
 * The keys with which the installation signs. If none is configured, the first replica that needs one makes it, and all replicas use
 * it: it is stored in Postgres, sealed with the sealing key. Without a sealing key there is no key, because a private key is never stored
 * unsealed.
 */
@Injectable()
export class InstallationKeys {
  private readonly log = new Logger('signing');
  private readonly configured: Promise<SigningKey[]>;
  private own?: Promise<SigningKey | undefined>;

  constructor(
    private readonly db: Database,
    private readonly secrets: SecretsService,
    @Inject(CONFIG) { a2a }: Config,
  ) {
    this.configured = Promise.all(a2a.signingKeys.map(withId));
  }

  /** The keys that the operator has configured, the newest first. */
  async ofOperator(): Promise<readonly SigningKey[]> {
    return await this.configured;
  }

  /** The key that signs calls; undefined if none is configured and none can be stored. */
  async current(): Promise<SigningKey | undefined> {
    const [first] = await this.configured;
    return first ?? (await this.ofInstallation());
  }

  /** The public keys. */
  async jwks(): Promise<{ keys: JWK[] }> {
    const configured = await this.configured;
    const own = configured.length === 0 ? await this.ofInstallation() : undefined;
    return { keys: [...configured, ...(own ? [own] : [])].map(publicPart) };
  }

  /** A failed attempt, for example because Postgres is unavailable, is not kept. */
  private async ofInstallation(): Promise<SigningKey | undefined> {
    this.own ??= this.stored().catch((error: unknown) => {
      this.own = undefined;
      throw error;
    });
    return await this.own;
  }

  private async stored(): Promise<SigningKey | undefined> {
    if (!this.secrets.isUsable) {
      this.log.warn({ event: 'signing.key_missing', how: 'Set ROLLCALL_SEALING_KEY or ROLLCALL_A2A_SIGNING_KEYS.' });
      return undefined;
    }
    const found = await this.read();
    if (found) return this.opened(found);
    await this.db.query(ADD, [this.secrets.seal(new Secret(JSON.stringify(await newKey())), OWNER)]);
    const added = await this.read(); // another replica may have added its key first
    return added && this.opened(added);
  }

  private async read(): Promise<Buffer | undefined> {
    const [row] = await this.db.query<{ sealed: Buffer }>(READ, []);
    return row?.sealed;
  }

  /** Calls are not signed, but not rejected either, if the key was sealed with a sealing key that is no longer configured. */
  private opened(sealed: Buffer): SigningKey | undefined {
    try {
      return JSON.parse(this.secrets.open(sealed, OWNER).reveal()) as SigningKey;
    } catch (error) {
      this.log.error({ event: 'signing.key_unreadable', err: error });
      return undefined;
    }
  }
}

async function newKey(): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(SIGNATURE_ALGORITHM, { extractable: true });
  return await withId(await exportJWK(privateKey));
}

/** A key without an id gets its thumbprint. */
async function withId(key: JWK): Promise<SigningKey> {
  return { ...key, kid: key.kid ?? (await calculateJwkThumbprint(key)) };
}

function publicPart({ kty, crv, x, y, kid }: SigningKey): JWK {
  return { kty, crv, x, y, kid, alg: SIGNATURE_ALGORITHM, use: 'sig' };
}
