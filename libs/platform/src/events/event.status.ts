import { Injectable } from '@nestjs/common';
import { Database } from '../postgres/database.js';

export interface OutboxStatus {
  /** Events that wait for the sequencer, counted up to a limit. */
  staged: number;
  /** How long the oldest staged event has waited. */
  oldestMs: number;
  /** The newest seq of the log. */
  head: number;
}

const MAX_COUNTED = 100_000;

/** The progress of the event log. */
@Injectable()
export class EventStatus {
  constructor(private readonly db: Database) {}

  async read(): Promise<OutboxStatus> {
    const [row] = await this.db.query<{ staged: number; oldest: number | null; head: string }>(
      `SELECT (SELECT count(*)::int FROM (SELECT 1 FROM event_staging LIMIT ${MAX_COUNTED}) AS counted) AS staged,
         (SELECT (extract(epoch FROM clock_timestamp() - min(at)) * 1000)::float8 FROM event_staging) AS oldest,
         (SELECT head FROM event_counter) AS head`,
      [],
      'reserved',
    );
    return { staged: row?.staged ?? 0, oldestMs: Math.max(0, row?.oldest ?? 0), head: Number(row?.head ?? 0) };
  }
}
