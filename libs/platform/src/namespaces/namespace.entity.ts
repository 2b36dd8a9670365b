import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { NamespaceLimits } from './namespace.js';

/** A team's part of the registry. A deleted namespace keeps its row: its name is not used again, because its history remains. */
@Entity('namespace')
export class NamespaceEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'namespace_pkey' })
  name: string;

  @Column({ type: 'text', nullable: true })
  description: string | null;

  @Column({ type: 'jsonb', default: {} })
  limits: Partial<NamespaceLimits>;

  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' })
  createdAt: Date;

  @Column({ type: 'text', name: 'created_by' })
  createdBy: string;

  @Column({ type: 'timestamptz', name: 'deleted_at', nullable: true })
  deletedAt: Date | null;
}
