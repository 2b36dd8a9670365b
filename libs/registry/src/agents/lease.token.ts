import { hash, randomBytes, randomUUID } from 'node:crypto';

const PREFIX = 'rl_';
/** The length of the prefix and of 32 bytes in base64url. */
const LENGTH = 46;
/** The number of random digits at the end of a generated agentId. The last 12 digits of a random UUID are all random. */
const SUFFIX_LENGTH = 10;

/** Returns a new secret of 256 random bits. The agent authenticates with it; only its hash is stored. */
export function newLeaseToken(): string {
  return PREFIX + randomBytes(32).toString('base64url');
}

export function isLeaseToken(token: string): boolean {
  return token.length === LENGTH && token.startsWith(PREFIX);
}

export function hashOfToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** Returns an agentId for an agent that proposes none: its name and a random suffix. */
export function newAgentId(name: string): string {
  const stem = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40);
  return `${stem || 'agent'}-${randomUUID().slice(-SUFFIX_LENGTH)}`;
}
