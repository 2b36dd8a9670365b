import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Where a client wants the changes of its task to be sent. The sink with the same id stores the progress. */
@Entity('push_config')
@Index('push_config_of_run', ['runId', 'configId'], { unique: true })
export class PushEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'push_config_pkey' })
  id: string;

  @Column({ type: 'text' })
  namespace: string;

  /** The task. */
  @Column({ type: 'text', name: 'run_id' })
  runId: string;

  /** The id that the client chose, or a generated one. It is unique within the task. */
  @Column({ type: 'text', name: 'config_id' })
  configId: string;

  @Column({ type: 'text' })
  url: string;

  /** The scheme of the Authorization header. */
  @Column({ type: 'text', nullable: true })
  scheme: string | null;

  /** The encrypted credentials and token; null if there are none. */
  @Column({ type: 'bytea', nullable: true })
  secrets: Buffer | null;

  /** The version of A2A that the client uses. */
  @Column({ type: 'text' })
  version: string;

  /** The principal that the configuration counts for; empty if it is older than the quota. */
  @Index('push_config_of_owner')
  @Column({ type: 'text', name: 'created_by', default: '' })
  createdBy: string;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt: Date;
}
