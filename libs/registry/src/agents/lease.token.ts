import { hash, randomBytes } from 'node:crypto';

const PREFIX = 'rl_';
/** The prefix and 32 bytes in base64url. */
const LENGTH = 46;

/** 256 random bits. It proves an agent to us as an API key proves a caller; only its hash is stored. */
export function newLeaseToken(): string {
  return PREFIX + randomBytes(32).toString('base64url');
}

export function isLeaseToken(token: string): boolean {
  return token.length === LENGTH && token.startsWith(PREFIX);
}

export function hashOfToken(token: string): string {
  return hash('sha256', token, 'base64url');
}

/** For an agent that proposes no agentId: its name, and something no other has. */
export function newAgentId(name: string): string {
  const stem = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 40);
  return `${stem || 'agent'}-${randomBytes(5).toString('hex')}`;
}
