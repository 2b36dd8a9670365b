import { Column, Entity, PrimaryColumn } from 'typeorm';

/**
 * One row: the highest generation of all deleted agents. The first registration of an agentId without a row gets the next higher
 * generation, so a client that still uses a deleted registration of that agentId is rejected.
 */
@Entity('agent_forgotten')
export class ForgottenEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'agent_forgotten_pkey' }) id: number;
  @Column({ type: 'bigint' }) generation: string;
}
