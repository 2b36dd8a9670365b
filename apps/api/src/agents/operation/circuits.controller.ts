import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiProperty, ApiPropertyOptional, ApiTags } from '@nestjs/swagger';
import { IsIn, IsNumber, IsOptional, IsString, Length, Max, Min } from 'class-validator';
import { qualifiedId } from '#rollcall/platform';
import {
  type CircuitPhase,
  CircuitService,
  type CircuitView,
  KEPT_OUTCOMES,
  type ProbePermit,
  type ReportedOutcome,
  type Reporter,
} from '#rollcall/registry';
import { Permit } from '../../auth/route.access.js';
import { PagedList, PageQuery, PageView } from '../../http/page.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { Optional } from '../../http/validation/fields.js';
import { Mutation } from '../../mutation/mutation.js';
import { CIRCUIT_PHASES } from '../agent.view.js';
import { AGENT_ID } from '../agents.examples.js';
import { Caller, type Principal } from '../../auth/principal.js';

const OUTCOMES = new PagedList('outcomes');

const MAX_CALL_MS = 1e9;

class OutcomeBody {
  @ApiProperty({ example: true, description: 'Whether the call succeeded.' }) @IsIn([true, false]) ok: boolean;
  @ApiPropertyOptional({
    example: 850,
    minimum: 0,
    maximum: MAX_CALL_MS,
    description: 'How long the call took, in ms. Successful calls count for `observedMs` of the agent.',
  })
  @Optional()
  @IsNumber()
  @Min(0)
  @Max(MAX_CALL_MS)
  latencyMs?: number;
  @ApiPropertyOptional({ example: 'p-1', description: 'The `probeId`, if this call was the probe.' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  probeId?: string;
}

class ProbeBody {
  @ApiProperty({ example: 'p-1', description: 'A name that the caller chooses and sends with the outcome.' })
  @IsString()
  @Length(1, 100)
  probeId: string;
}

class AgentCircuitView implements CircuitView {
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

class ProbeView implements ProbePermit {
  @ApiProperty({ example: true, description: 'Whether this caller may make the probe.' }) claimed: boolean;
  @ApiProperty({ type: AgentCircuitView, description: 'The circuit of the agent.' }) circuit: AgentCircuitView;
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

class OutcomeView {
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

/** What callers report about their calls to an agent. */
@ApiTags('agents')
@Controller('agents/:id')
export class CircuitsController {
  constructor(private readonly circuits: CircuitService) {}

  @Post('outcomes')
  @HttpCode(200)
  @Permit('agents:report')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'agents.reportOutcome',
    summary: 'Report the outcome of a call to an agent',
    description:
      'Consecutive failures open the circuit of the agent for all callers. `observedMs` is computed from the latency ' +
      'of successful calls.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: AgentCircuitView, description: 'The circuit after this outcome.' })
  @Problems('AGENT_NOT_FOUND')
  async report(
    @Param('id') agentId: string,
    @Body() { ok, latencyMs, probeId }: OutcomeBody,
    @Caller() { id, name, namespace }: Principal,
  ): Promise<AgentCircuitView> {
    return await this.circuits.report(qualifiedId(namespace, agentId), { ok, latencyMs, probeId }, { id, name });
  }

  @Get('outcomes')
  @Permit('agents:read')
  @ApiOperation({
    operationId: 'agents.listOutcomes',
    summary: 'List the latest outcomes of an agent, newest first',
    description: `The latest ${KEPT_OUTCOMES} outcomes are kept, each with the caller that reported it.`,
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: OutcomePage, description: 'A page of outcomes.' })
  @Problems('AGENT_NOT_FOUND', 'CURSOR_INVALID')
  async list(
    @Param('id') id: string,
    @Query() { limit, cursor }: PageQuery,
    @Caller() { namespace }: Principal,
  ): Promise<OutcomePage> {
    const agentId = qualifiedId(namespace, id);
    const rows = await this.circuits.listOutcomes(agentId, limit + 1, OUTCOMES.readCursor(cursor));
    return OUTCOMES.toPage(rows, limit, toOutcomeView, ({ number }) => String(number));
  }

  @Post('probe')
  @HttpCode(200)
  @Permit('agents:report')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'agents.claimProbe',
    summary: 'Claim the probe of a half-open circuit',
    description: 'Among all callers on all replicas, only one gets the probe.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: ProbeView, description: '`claimed` is true if this caller has the probe.' })
  @Problems('AGENT_NOT_FOUND')
  async probe(
    @Param('id') id: string,
    @Body() { probeId }: ProbeBody,
    @Caller() { namespace }: Principal,
  ): Promise<ProbeView> {
    return await this.circuits.acquireProbe(qualifiedId(namespace, id), probeId);
  }
}

function toOutcomeView({ at, ...outcome }: ReportedOutcome): OutcomeView {
  return { ...outcome, at: at.toISOString() };
}
