import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * The lease of a live agent: a narrow row without secondary indexes, half-filled pages, so that a beat is a HOT update that
 * touches no index. The token is here too: a beat is checked and written by one statement.
 */
@Entity('agent_lease')
export class LeaseEntity {
  @PrimaryColumn({ type: 'text', name: 'agent_id', primaryKeyConstraintName: 'agent_lease_pkey' }) agentId: string;
  @Column({ type: 'bigint' }) generation: string;
  @Column({ type: 'text', name: 'token_hash' }) tokenHash: string;
  @Column({ type: 'timestamptz', name: 'last_beat_at' }) lastBeatAt: Date;
  /** How much was forgiven to all when it beat last; what came on top since then does not count. */
  @Column({ type: 'bigint', name: 'forgiven_ms', default: 0 }) forgivenMs: string;
  /** The replica that took its last beat, and so knows of it; 0 before the first. */
  @Column({ type: 'integer', name: 'taken_by', default: 0 }) takenBy: number;
  /** The one that took the beat before: where it was another, the replica has missed what was told there. */
  @Column({ type: 'integer', name: 'taken_before', default: 0 }) takenBefore: number;
  @Column({ type: 'boolean', default: false }) suspect: boolean;
  @Column({ type: 'integer', name: 'in_flight', default: 0 }) inFlight: number;
  @Column({ type: 'real', name: 'load_ratio', nullable: true }) loadRatio: number | null;
  @Column({ type: 'real', name: 'observed_ms', nullable: true }) observedMs: number | null;
  @Column({ type: 'bigint', name: 'used_tokens', nullable: true }) usedTokens: string | null;
}
