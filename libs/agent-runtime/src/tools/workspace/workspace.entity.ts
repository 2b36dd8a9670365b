import { Column, Entity } from 'typeorm';

/** A workspace that a replica has created on its disk. Without a shared volume, no other replica has it. */
@Entity('workspace')
export class WorkspaceEntity {
  @Column({ type: 'text', primary: true, primaryKeyConstraintName: 'workspace_pkey' }) id: string;
  /** The replica that had the folder when it was last looked for or created. */
  @Column({ type: 'uuid', name: 'replica_id' }) replicaId: string;
  /** The last run that had to wait for the workspace, and since when. */
  @Column({ type: 'text', name: 'awaited_by', nullable: true }) awaitedBy: string | null;
  @Column({ type: 'timestamptz', name: 'awaited_since', nullable: true }) awaitedSince: Date | null;
}
