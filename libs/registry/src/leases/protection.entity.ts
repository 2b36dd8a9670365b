import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ProtectionExplanation } from './protection.explanation.js';
import type { ProtectionOverride, ProtectionState } from './protection.state.js';

/** One row for the whole registry. The replica that sweeps holds its lock. */
@Entity('registry_protection')
export class ProtectionEntity {
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'registry_protection_pkey' }) id: number;
  @Column({ type: 'text' }) override: ProtectionOverride;
  @Column({ type: 'jsonb', nullable: true }) state: ProtectionState | null;
  @Column({ type: 'jsonb', nullable: true }) explanation: ProtectionExplanation | null;
  /** The total time in which the registry could not receive heartbeats, and the end of the last such period. */
  @Column({ type: 'bigint', name: 'forgiven_ms', default: 0 }) forgivenMs: string;
  @Column({ type: 'timestamptz', name: 'forgiven_until', nullable: true }) forgivenUntil: Date | null;
}
