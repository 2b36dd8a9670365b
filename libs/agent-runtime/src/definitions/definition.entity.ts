import { Column, Entity, PrimaryColumn } from 'typeorm';

/** A registered definition. The row names its current revision. */
@Entity('definition')
export class DefinitionEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'definition_pkey' }) namespace: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'definition_pkey' }) name: string;
  @Column({ type: 'integer' }) revision: number;
}
