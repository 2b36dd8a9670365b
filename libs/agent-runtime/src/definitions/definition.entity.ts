import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { DefinitionContent, DefinitionSource } from './definition.js';

/** A registered definition. The row names its current revision. */
@Entity('definition')
export class DefinitionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'definition_pkey' }) namespace: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'definition_pkey' }) name: string;
  @Column({ type: 'integer' }) revision: number;
}

/** One revision of a definition. A row is never changed, and it remains when the definition is removed. */
@Entity('definition_revision')
export class DefinitionRevisionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'definition_revision_pkey' }) namespace: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'definition_revision_pkey' }) name: string;
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'definition_revision_pkey' }) revision: number;
  @Column({ type: 'jsonb' }) content: DefinitionContent;
  /** SHA-256 of the content. Equal contents have the same hash. */
  @Column({ type: 'text' }) hash: string;
  @Column({ type: 'text' }) source: DefinitionSource;
  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' }) createdAt: Date;
  @Column({ type: 'text', name: 'created_by' }) createdBy: string;
}
