/** The members of the header and of the body of a `Rollcall-Token` that are checked. */
interface Claims {
  readonly alg?: string;
  readonly kid?: string;
  readonly aud?: string;
  readonly iss?: string;
  readonly namespace?: string;
  readonly exp?: number;
}

interface PublicKey {
  readonly kid: string;
  readonly kty: string;
  readonly crv: string;
  readonly x: string;
  readonly y: string;
}

type VerifyKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

export interface SignatureOptions {
  /** The address of the server, which publishes its keys. */
  readonly url: string;
  /** The public URL of the installation, if it is to be checked. */
  readonly issuer?: string | undefined;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

const READ_KEYS_EVERY_MS = 10_000;
const CLOCK_DIFFERENCE_S = 30;
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Checks with WebCrypto that Rollcall has signed a call. */
export class CallSignature {
  private keys = new Map<string, VerifyKey>();
  private reading: { readonly at: number; readonly done: Promise<void> } | undefined;

  constructor(private readonly options: SignatureOptions) {}

  /** Whether the token is a signed and valid token for this agent. Rejects if the keys cannot be read. */
  async isGenuine(token: string, agentId: string, namespace: string): Promise<boolean> {
    const [head = '', body = '', signature = ''] = token.split('.');
    const header = decodeJson(head);
    const claims = decodeJson(body);
    if (header?.alg !== 'ES256' || header.kid === undefined || !claims) return false;
    const key = await this.keyOf(header.kid);
    const signed = new TextEncoder().encode(`${head}.${body}`);
    if (!key || !(await crypto.subtle.verify(ALGORITHM, key, decode(signature), signed))) return false;
    const { issuer } = this.options;
    const isFresh = (claims.exp ?? 0) > Date.now() / 1_000 - CLOCK_DIFFERENCE_S;
    const isForThis = claims.aud === agentId && claims.namespace === namespace;
    return isFresh && isForThis && (issuer === undefined || claims.iss === issuer);
  }

  /** A key that is not known may be new, so the keys are read again, but not for each token. */
  private async keyOf(kid: string): Promise<VerifyKey | undefined> {
    if (!this.keys.has(kid)) {
      if (!this.reading || performance.now() - this.reading.at > READ_KEYS_EVERY_MS) {
        this.reading = { at: performance.now(), done: this.readKeys() };
        this.reading.done.catch(() => (this.reading = undefined));
      }
      await this.reading.done;
    }
    return this.keys.get(kid);
  }

  private async readKeys(): Promise<void> {
    const response = await this.options.fetch(`${this.options.url}/.well-known/jwks.json`, {});
    const { keys } = (await response.json()) as { keys: PublicKey[] };
    const known = keys.map(
      async (jwk) => [jwk.kid, await crypto.subtle.importKey('jwk', jwk, ALGORITHM, false, ['verify'])] as const,
    );
    this.keys = new Map(await Promise.all(known));
  }
}

function decode(base64url: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64url.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function decodeJson(part: string): Claims | undefined {
  try {
    return JSON.parse(new TextDecoder().decode(decode(part))) as Claims;
  } catch {
    return undefined; // not a token
  }
}
