import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { PinnedDefinition } from './tool-pin.store.js';

/**
 * The definition of a tool of an MCP server: what a replica saw last, and which version may be used. Rows are never deleted:
 * otherwise a server could hide a tool for a moment, and its new definition would count as seen for the first time.
 */
@Entity('tool_pin')
export class ToolPinEntity {
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'tool_pin_pkey' }) server: string;
  @PrimaryColumn({ type: 'text', primaryKeyConstraintName: 'tool_pin_pkey' }) tool: string;
  @Column({ type: 'text' }) hash: string;
  @Column({ type: 'jsonb' }) definition: PinnedDefinition;
  /** Null until the tool is accepted for the first time. */
  @Column({ type: 'text', name: 'accepted_hash', nullable: true }) acceptedHash: string | null;
  /** Null if the definition was trusted when it was seen for the first time. */
  @Column({ type: 'text', name: 'accepted_by', nullable: true }) acceptedBy: string | null;
  @Column({ type: 'timestamptz', name: 'accepted_at', nullable: true }) acceptedAt: Date | null;
  @Column({ type: 'timestamptz', name: 'first_seen_at', default: () => 'now()' }) firstSeenAt: Date;
  @Column({ type: 'timestamptz', name: 'changed_at', default: () => 'now()' }) changedAt: Date;
}
