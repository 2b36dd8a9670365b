import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** The agents that one replica changed in about one second, without an event. Rows are deleted after a minute. */
@Entity('replica_changes')
export class ReplicaChangesEntity {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'replica_changes_pkey',
  })
  id: string;
  @Column({ type: 'integer' }) replica: number;
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' }) at: Date;
  /** The agents whose heartbeats the replica committed. */
  @Column({ type: 'text', array: true }) beaten: string[];
  /** The agents whose budgets the replica changed. */
  @Column({ type: 'text', array: true }) charged: string[];
}
