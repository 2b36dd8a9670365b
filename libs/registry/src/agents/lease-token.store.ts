import { hash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

const PREFIX = 'rl_';
/** The length of the prefix and of 32 bytes in base64url. */
const LENGTH = 46;
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

/** Looks up lease tokens of agents that are registered, or were registered and are still stored. */
@Injectable()
export class LeaseTokenStore {
  constructor(private readonly db: Database) {}

  /** Returns the agentId of each hash that belongs to an agent. */
  async findAgents(hashes: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.db.query<{ tokenHash: string; agentId: string }>(
      'SELECT token_hash AS "tokenHash", agent_id AS "agentId" FROM agent WHERE token_hash = ANY ($1)',
      [hashes],
    );
    return new Map(rows.map(({ tokenHash, agentId }) => [tokenHash, agentId]));
  }
}
