import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * One row: the highest generation of all agents whose history was forgotten. An agentId that nobody remembers goes on after
 * it, so that whoever still speaks for an earlier life is not taken for the new one.
 */
@Entity('agent_forgotten')
export class ForgottenEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'agent_forgotten_pkey' }) id: number;
  @Column({ type: 'bigint' }) generation: string;
}
