import { Injectable, type OnModuleInit } from '@nestjs/common';
import { importJWK, SignJWT } from 'jose';
import { type CallSigner, CallSigners, type SignedCall } from '#rollcall/providers';
import { PublicUrl } from '../../http/public.url.js';
import { InstallationKeys, SIGNATURE_ALGORITHM, type SigningKey } from './installation.keys.js';

/** A call takes longer, but each of its requests has a token of its own. */
const LIFETIME = '5m';

/**
 * Signs the calls of agents, so that an agent can check that this installation calls it, and for whom: `iss` is the public URL, `aud` the
 * agentId, and `sub` the principal that started the run.
 */
@Injectable()
export class CallTokens implements CallSigner, OnModuleInit {
  private imported?: { readonly key: SigningKey; readonly crypto: ReturnType<typeof importJWK> };

  constructor(
    private readonly keys: InstallationKeys,
    private readonly urls: PublicUrl,
    private readonly signers: CallSigners,
  ) {}

  onModuleInit(): void {
    this.signers.use(this);
  }

  async sign({ namespace, runId, callerId, agentName, callId }: SignedCall): Promise<string | undefined> {
    const key = await this.keys.current();
    if (!key) return undefined;
    if (this.imported?.key !== key) this.imported = { key, crypto: importJWK(key, SIGNATURE_ALGORITHM) };
    return await new SignJWT({ namespace, runId, callId })
      .setProtectedHeader({ alg: SIGNATURE_ALGORITHM, kid: key.kid, typ: 'JWT' })
      .setIssuer(this.urls.of(''))
      .setSubject(callerId ?? `run:${runId}`)
      .setAudience(agentName)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime(LIFETIME)
      .sign(await this.imported.crypto);
  }
}
