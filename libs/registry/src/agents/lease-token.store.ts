import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

/** Looks up lease tokens of agents that are registered, or were registered and are still stored. */
@Injectable()
export class LeaseTokenStore {
  constructor(private readonly db: Database) {}

  /** Returns the agentId of each hash that belongs to an agent. */
  async findAgents(hashes: readonly string[]): Promise<Map<string, string>> {
    const rows = await this.db.query<{ hash: string; agentId: string }>(
      'SELECT token_hash AS hash, agent_id AS "agentId" FROM agent WHERE token_hash = ANY ($1)',
      [hashes],
    );
    return new Map(rows.map(({ hash, agentId }) => [hash, agentId]));
  }
}
