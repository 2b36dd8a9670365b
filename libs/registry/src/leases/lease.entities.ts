import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { ProtectionExplanation } from './self-preservation.js';
import type { ProtectionOverride, ProtectionState } from './protection.state.js';

/**
 * The lease of a live agent. The row is narrow and has no secondary index, and pages are half filled, so a heartbeat is a HOT update
 * that touches no index. The row contains the token's hash, so one statement checks and writes a heartbeat.
 */
@Entity('agent_lease')
export class LeaseEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_lease_pkey' }) agentId: string;
  @Column({ type: 'bigint' }) generation: string;
  @Column({ type: 'text', name: 'token_hash' }) tokenHash: string;
  @Column({ type: 'timestamptz', name: 'last_beat_at' }) lastBeatAt: Date;
  /** `forgiven_ms` of `registry_protection` at the last heartbeat. The increase since then does not count as silence. */
  @Column({ type: 'bigint', name: 'forgiven_ms', default: 0 }) forgivenMs: string;
  /** The replica that committed the last heartbeat; 0 before the first heartbeat. */
  @Column({ type: 'integer', name: 'taken_by', default: 0 }) takenBy: number;
  /**
   * The replica that committed the heartbeat before the last one. If it is not `takenBy`, the replica in `takenBy` has not seen the
   * values of that heartbeat.
   */
  @Column({ type: 'integer', name: 'taken_before', default: 0 }) takenBefore: number;
  @Column({ type: 'boolean', default: false }) suspect: boolean;
  @Column({ type: 'integer', name: 'in_flight', default: 0 }) inFlight: number;
  @Column({ type: 'real', name: 'load_ratio', nullable: true }) loadRatio: number | null;
  /** The latency that the agent reports. The latency that callers observe is in `agent_circuit.observed_ms`. */
  @Column({ type: 'real', name: 'observed_ms', nullable: true }) reportedMs: number | null;
  @Column({ type: 'bigint', name: 'used_tokens', nullable: true }) usedTokens: string | null;
}

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
