import { ApiProperty } from '@nestjs/swagger';
import {
  type CircuitPhase,
  type CircuitView as Circuit,
  KEPT_OUTCOMES,
  type ProbePermit,
  type ReportedOutcome,
  type Reporter,
} from '#rollcall/registry';
import { PageView } from '../http/page.js';
import { CIRCUIT_PHASES } from './agent.view.js';

export class CircuitView implements Circuit {
  @ApiProperty({ enum: CIRCUIT_PHASES, description: '`open`: the agent gets no calls.' }) phase: CircuitPhase;
  @ApiProperty({ type: 'integer', example: 0, description: 'Consecutive failed calls.' }) consecutiveFailures: number;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: null,
    description: 'From this time on, one probe is allowed; null while the circuit is closed.',
  })
  openUntil: string | null;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: null,
    description: 'The time until `openUntil`; null while the circuit is closed.',
  })
  retryAfterMs: number | null;
}

export class ProbeView implements ProbePermit {
  @ApiProperty({ example: true, description: 'Whether this caller may make the probe.' }) claimed: boolean;
  @ApiProperty({ type: CircuitView, description: 'The circuit of the agent.' }) circuit: CircuitView;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: '2026-02-24T10:30:30.000Z',
    description: 'When the claim of the probe ends; null if no caller has claimed it.',
  })
  heldUntil: string | null;
}

class ReporterView implements Reporter {
  @ApiProperty({ example: 'key:4fT9sKq2Lm', description: 'The principal, as in the audit log.' }) id: string;
  @ApiProperty({ example: 'planner', description: 'The name of the credential.' }) name: string;
}

export class OutcomeView {
  @ApiProperty({ type: 'integer', example: 42, description: 'Counts the outcomes of the agent, from 1.' })
  number: number;
  @ApiProperty({
    format: 'date-time',
    example: '2026-02-24T10:30:00.000Z',
    description: 'When the outcome was reported.',
  })
  at: string;
  @ApiProperty({ type: 'integer', example: 1, description: 'The generation of the agent at that time.' })
  generation: number;
  @ApiProperty({ example: true, description: 'Whether the call succeeded.' }) ok: boolean;
  @ApiProperty({
    type: Number,
    nullable: true,
    example: 850,
    description: 'How long the call took, in ms; null if unknown.',
  })
  latencyMs: number | null;
  @ApiProperty({ type: ReporterView, description: 'The caller that reported the outcome.' }) reporter: ReporterView;
}

export class OutcomePage extends PageView {
  @ApiProperty({
    type: [OutcomeView],
    description: `Newest first. The latest ${KEPT_OUTCOMES} of each agent are kept.`,
  })
  items: OutcomeView[];
}

export function toOutcomeView({ at, ...outcome }: ReportedOutcome): OutcomeView {
  return { ...outcome, at: at.toISOString() };
}
