import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

/** Looks up lease tokens of agents that are registered, or were registered and are still stored. */
@Injectable()
export class LeaseTokenStore {
  constructor(private readonly db: Database) {}

  /** Returns the hashes that belong to an agent. */
  async findKnown(hashes: readonly string[]): Promise<Set<string>> {
    const rows = await this.db.query<{ hash: string }>(
      'SELECT token_hash AS hash FROM agent WHERE token_hash = ANY ($1)',
      [hashes],
    );
    return new Set(rows.map(({ hash }) => hash));
  }
}
