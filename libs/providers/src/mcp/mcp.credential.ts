import { z } from 'zod';
import { ProviderError } from '../errors.js';
import { withCredential } from '../secrets/credential.js';
import { Secret, type SecretSource } from '../secrets/secret.js';
import type { ClientCredentials, McpHttpServer } from './mcp.config.js';

export interface AuthorizedFetch {
  fetch: typeof fetch;
  /** The keys that the server has received, to remove them from its texts. */
  secrets(): readonly Secret[];
}

/** Adds the credential of Rollcall to requests to the origin of the server. A token of a caller is never sent. */
export function authorizedFetch(server: McpHttpServer, inner: typeof fetch, secrets: SecretSource): AuthorizedFetch {
  if (server.clientCredentials) return withClientCredentials(server, inner, secrets);
  if (!server.credential) return { fetch: inner, secrets: () => [] };
  try {
    const { fetch, secret } = withCredential(inner, { url: server.url, settings: server.credential, secrets });
    return { fetch, secrets: () => [secret] };
  } catch (error) {
    throw new ProviderError('MCP_SETTINGS_INVALID', (error as Error).message);
  }
}

function withClientCredentials(
  { url, clientCredentials, startTimeoutMs }: McpHttpServer,
  inner: typeof fetch,
  secrets: SecretSource,
): AuthorizedFetch {
  const { origin } = new URL(url);
  const tokenFetch: typeof fetch = async (input, init) =>
    await inner(input, { ...init, signal: AbortSignal.timeout(startTimeoutMs) });
  const tokens = new TokenSource({ settings: clientCredentials!, resource: url, secrets, fetch: tokenFetch });
  let issued: Secret[] = [];
  const send: typeof fetch = async (input, init = {}) => {
    const token = await tokens.token();
    issued = [token, ...issued.filter((one) => one !== token)].slice(0, 2);
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token.reveal()}`);
    return await inner(input, { ...init, headers });
  };
  const authorized: typeof fetch = async (input, init) => {
    if (new URL(String(input)).origin !== origin) return await inner(input, init);
    const response = await send(input, init);
    if (response.status !== 401) return response;
    await response.body?.cancel();
    tokens.reject(); // the token may have been revoked
    return await send(input, init);
  };
  return { fetch: authorized, secrets: () => issued };
}

/** A token is replaced this long before it expires. */
const EARLY_MS = 30_000;
const DEFAULT_LIFETIME_S = 300;
const MAX_LIFETIME_S = 86_400;

const TokenResponse = z.object({
  access_token: z.string().min(1).max(16_384),
  token_type: z.string().regex(/^bearer$/i),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});

interface TokenSourceOptions {
  settings: ClientCredentials;
  /** The URL of the MCP server. The token is issued for this server only. */
  resource: string;
  secrets: SecretSource;
  fetch: typeof fetch;
}

interface IssuedToken {
  secret: Secret;
  /** In milliseconds, on the clock of `performance.now()`. */
  expiresAt: number;
}

/**
 * Requests tokens with the OAuth 2.0 client credentials of Rollcall. The client secret is sent to the token URL only. A token is
 * used until shortly before it expires; concurrent calls share one request.
 */
class TokenSource {
  private current?: Promise<IssuedToken>;
  private readonly clientId: Secret;
  private readonly clientSecret: Secret;

  constructor(private readonly options: TokenSourceOptions) {
    const { settings, secrets } = options;
    const { origin } = new URL(settings.tokenUrl);
    this.clientId = mcpKey(settings.clientIdEnv, secrets, origin);
    this.clientSecret = mcpKey(settings.clientSecretEnv, secrets, origin);
  }

  async token(): Promise<Secret> {
    const pending = (this.current ??= this.request());
    try {
      const { secret, expiresAt } = await pending;
      if (performance.now() < expiresAt) return secret;
    } catch (error) {
      this.forget(pending);
      throw error;
    }
    this.forget(pending);
    return await this.token();
  }

  /** Discards a token that the server has refused. The next call requests a new token. */
  reject(): void {
    this.current = undefined;
  }

  private forget(pending: Promise<IssuedToken>): void {
    if (this.current === pending) this.current = undefined;
  }

  private async request(): Promise<IssuedToken> {
    const { settings, resource, fetch } = this.options;
    const { tokenUrl, scope } = settings;
    const form = new URLSearchParams({ grant_type: 'client_credentials', resource, ...(scope && { scope }) });
    const userAndPassword = [this.clientId, this.clientSecret].map((key) => encodeURIComponent(key.reveal())).join(':');
    const authorization = `Basic ${Buffer.from(userAndPassword).toString('base64')}`;
    const response = await fetch(tokenUrl, {
      method: 'POST',
      headers: { authorization, accept: 'application/json', 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
    });
    return await this.read(response);
  }

  private async read(response: Response): Promise<IssuedToken> {
    const { host } = new URL(this.options.settings.tokenUrl);
    const text = await response.text();
    if (!response.ok)
      throw new ProviderError(
        'MCP_CREDENTIAL_REFUSED',
        `The token URL at ${host} responded with ${response.status}. Check the client credentials.`,
        { status: response.status, retryable: response.status === 429 || response.status >= 500 },
      );
    const token = TokenResponse.safeParse(parsed(text));
    if (!token.success) throw new ProviderError('MCP_CREDENTIAL_REFUSED', `${host} did not return a bearer token.`);
    const { access_token: value, expires_in: seconds = DEFAULT_LIFETIME_S } = token.data;
    const lifetimeMs = Math.min(seconds, MAX_LIFETIME_S) * 1_000;
    const usableMs = Math.max(lifetimeMs - EARLY_MS, lifetimeMs / 2);
    return { secret: new Secret(value), expiresAt: performance.now() + usableMs };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // the schema rejects it
  }
}

/** Finds a key of an MCP server. Throws if it is not set. */
export function mcpKey(env: string, secrets: SecretSource, origin?: string): Secret {
  const secret = secrets(env, origin);
  if (secret) return secret;
  throw new ProviderError(
    'MCP_SETTINGS_INVALID',
    `The key ${env} of an MCP server is not set. Set it where Rollcall runs.`,
  );
}
