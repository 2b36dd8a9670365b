import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { ProtectionExplanation } from './self-preservation.js';
import type { ProtectionOverride, ProtectionState } from './protection.state.js';

export interface Protection {
  override: ProtectionOverride;
  state: ProtectionState | null;
  explanation: ProtectionExplanation | null;
}

const READ = 'SELECT override, state, explanation FROM registry_protection WHERE id = 1';

@Injectable()
export class ProtectionStore {
  constructor(private readonly db: Database) {}

  async read(): Promise<Protection> {
    const [row] = await this.db.query<Protection>(READ);
    if (!row) throw new Error('the table registry_protection has no row; restore it with id 1 and override auto');
    return row;
  }

  /**
   * Locks the row until the transaction ends, and returns it. Returns undefined if another replica is sweeping, or has swept
   * within the last `notWithinMs`.
   */
  async lock(notWithinMs: number): Promise<Protection | undefined> {
    const [row] = await this.db.query<Protection>(
      `${READ} AND coalesce(abs(date_part('epoch', clock_timestamp()) * 1000 - (state->>'lastSweepAt')::float8) >= $1, true)
       FOR UPDATE SKIP LOCKED`,
      [notWithinMs],
    );
    return row;
  }

  async save(state: ProtectionState, explanation: ProtectionExplanation): Promise<void> {
    await this.db.query('UPDATE registry_protection SET state = $1, explanation = $2 WHERE id = 1', [
      state,
      explanation,
    ]);
  }

  async override(override: ProtectionOverride): Promise<void> {
    await this.db.query('UPDATE registry_protection SET override = $1 WHERE id = 1', [override]);
  }
}
