import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { TranscriptEntry, TranscriptFacts, TranscriptKind } from './contract.js';

/** The SQL of transcripts. The caller of `append` has locked the contract, so the numbers have no gap. */
@Injectable()
export class TranscriptStore {
  constructor(private readonly db: Database) {}

  /** `at` is the time of the decision that the entry records; by default, the time of the write. */
  async append<Kind extends TranscriptKind>(
    contractId: string,
    kind: Kind,
    data: TranscriptFacts[Kind],
    at: number | null = null,
  ): Promise<void> {
    await this.db.query(
      `INSERT INTO contract_entry (contract_id, number, kind, data, at)
       SELECT $1, coalesce(max(number), 0) + 1, $2, $3, coalesce(to_timestamp($4::float8 / 1000), clock_timestamp()) FROM contract_entry WHERE contract_id = $1`,
      [contractId, kind, JSON.stringify(data), at],
    );
  }

  async read(contractId: string): Promise<TranscriptEntry[]> {
    return await this.db.query<TranscriptEntry>(
      'SELECT at, kind, data FROM contract_entry WHERE contract_id = $1 ORDER BY number',
      [contractId],
    );
  }
}
