import { ProviderError } from '../errors.js';
import type { Secret, SecretSource } from '../secret.js';

/** Finds a key of an MCP server. Throws if it is not set. */
export function mcpKey(env: string, secrets: SecretSource, origin?: string): Secret {
  const secret = secrets(env, origin);
  if (secret) return secret;
  throw new ProviderError(
    'MCP_SETTINGS_INVALID',
    `The key ${env} of an MCP server is not set. Set it where Rollcall runs.`,
  );
}
