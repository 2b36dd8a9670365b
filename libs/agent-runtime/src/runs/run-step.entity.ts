import { Column, Entity, PrimaryColumn } from 'typeorm';
import type { RunStep } from './run.step.js';

/** One step of a run. A row never changes, except when its contents are removed after the end of the run. */
@Entity('run_step')
export class RunStepEntity {
  @PrimaryColumn({ type: 'text', name: 'run_id', primaryKeyConstraintName: 'run_step_pkey' }) runId: string;
  @PrimaryColumn({ type: 'integer', primaryKeyConstraintName: 'run_step_pkey' }) seq: number;
  @Column({ type: 'timestamptz', default: () => 'clock_timestamp()' }) at: Date;
  @Column({ type: 'json' }) step: RunStep;
}
