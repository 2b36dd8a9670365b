import { Injectable } from '@nestjs/common';
import type { CallContext, HandleOptions } from './agent.js';

/**
 * The header with the token of a call. It is not `Authorization`, so that it neither replaces the credential that an operator has
 * configured for the agent nor is rejected by a proxy that expects another issuer there.
 */
export const CALL_TOKEN_HEADER = 'Rollcall-Token';

/** A call that is signed. */
export interface SignedCall extends Pick<CallContext, 'namespace' | 'runId' | 'callerId' | 'agentName'> {
  readonly callId: string;
}

/** Signs calls with the key of the installation. */
export interface CallSigner {
  /** A short-lived JWT that proves to the agent who calls it; undefined if there is no key. */
  sign(call: SignedCall): Promise<string | undefined>;
}

export type SignCall = (options: HandleOptions) => Promise<string | undefined>;

/** Signs the calls that belong to a run. Without a signer, calls have no token. */
export function signWith(signer: CallSigner | undefined): SignCall {
  return async ({ context, callId }) =>
    context && (await signer?.sign({ ...context, callId: callId ?? context.runId }));
}

/** The signer of the application, which registers it when it has started: this library knows neither keys of the installation nor Postgres. */
@Injectable()
export class CallSigners implements CallSigner {
  private signer?: CallSigner;

  use(signer: CallSigner): void {
    this.signer = signer;
  }

  async sign(call: SignedCall): Promise<string | undefined> {
    return await this.signer?.sign(call);
  }
}
