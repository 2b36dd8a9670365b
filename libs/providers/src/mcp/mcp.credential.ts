import { withCredential } from '../agents/agent.credential.js';
import { ProviderError } from '../errors.js';
import type { Secret, SecretSource } from '../secret.js';
import { TokenSource } from './client-credentials.js';
import type { McpHttpServer } from './mcp.config.js';

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
