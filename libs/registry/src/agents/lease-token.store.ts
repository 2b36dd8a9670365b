import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

/** Finds out which lease tokens belong to an agent that is registered or was, for as long as its history is kept. */
@Injectable()
export class LeaseTokenStore {
  constructor(private readonly db: Database) {}

  /** Of these hashes, those that belong to an agent. */
  async findKnown(hashes: readonly string[]): Promise<Set<string>> {
    const rows = await this.db.query<{ hash: string }>(
      'SELECT token_hash AS hash FROM agent WHERE token_hash = ANY ($1)',
      [hashes],
    );
    return new Set(rows.map(({ hash }) => hash));
  }
}
