import { Column, Entity, PrimaryColumn } from 'typeorm';

/** One row: the signing key that the installation made for itself, because none is configured. */
@Entity('installation_key')
export class InstallationKeyEntity {
  @PrimaryColumn({ type: 'smallint', primaryKeyConstraintName: 'installation_key_pkey' }) id: number;
  /** The private JWK, sealed. */
  @Column({ type: 'bytea' }) sealed: Buffer;
  @Column({ type: 'timestamptz', name: 'created_at', default: () => 'clock_timestamp()' }) createdAt: Date;
}
