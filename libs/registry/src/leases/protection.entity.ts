import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ProtectionExplanation } from './protection.explanation.js';
import type { ProtectionOverride, ProtectionState } from './protection.state.js';

/** One row for the whole registry. Who holds its lock is the one replica that sweeps. */
@Entity('registry_protection')
export class ProtectionEntity {
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'registry_protection_pkey' }) id: number;
  @Column({ type: 'text' }) override: ProtectionOverride;
  @Column({ type: 'jsonb', nullable: true }) state: ProtectionState | null;
  @Column({ type: 'jsonb', nullable: true }) explanation: ProtectionExplanation | null;
  /** All the time in which nobody could have been heard, since the beginning, and when it last ended. */
  @Column({ type: 'bigint', name: 'forgiven_ms', default: 0 }) forgivenMs: string;
  @Column({ type: 'timestamptz', name: 'forgiven_until', nullable: true }) forgivenUntil: Date | null;
}
