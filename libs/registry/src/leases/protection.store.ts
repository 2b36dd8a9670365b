import { Injectable } from '@nestjs/common';
import { Database } from '../db/database.js';
import type { ProtectionExplanation, ProtectionOverride, ProtectionState } from './self-preservation.js';

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
    if (!row) throw new Error('registry_protection has lost its one row');
    return row;
  }

  /** The row, locked until the transaction ends; undefined when another replica is sweeping just now. */
  async take(): Promise<Protection | undefined> {
    const [row] = await this.db.query<Protection>(`${READ} FOR UPDATE SKIP LOCKED`);
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
