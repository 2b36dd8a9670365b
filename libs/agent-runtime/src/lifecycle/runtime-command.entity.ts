import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** A command to another replica, with its result. */
@Entity('runtime_command')
@Index('runtime_command_replica', ['replicaId'], { where: '(NOT is_taken)' })
export class RuntimeCommandEntity {
  @PrimaryColumn({ type: 'uuid', primaryKeyConstraintName: 'runtime_command_pkey' }) id: string;
  @Column({ name: 'replica_id', type: 'text' }) replicaId: string;
  @Column({ type: 'jsonb' }) command: object;
  @Column({ name: 'expires_at', type: 'timestamptz' }) expiresAt: Date;
  /** Whether the replica has started to execute it. */
  @Column({ name: 'is_taken', type: 'boolean', default: false }) isTaken: boolean;
  @Column({ type: 'jsonb', nullable: true }) result: object | null;
}
