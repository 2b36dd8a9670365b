import { Body, Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { qualifiedId } from '#rollcall/platform';
import { CircuitService, KEPT_OUTCOMES } from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems.js';
import { Mutation } from '../mutation/mutation.js';
import { OutcomeBody, ProbeBody } from './agents.dto.js';
import { AGENT_ID } from './agents.examples.js';
import { CircuitView, OutcomePage, ProbeView, toOutcomeView } from './circuit.view.js';

const OUTCOMES = new PagedList('outcomes');

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
  @ApiOkResponse({ type: CircuitView, description: 'The circuit after this outcome.' })
  @Problems('AGENT_NOT_FOUND')
  async report(
    @Param('id') agentId: string,
    @Body() { ok, latencyMs, probeId }: OutcomeBody,
    @Caller() { id, name, namespace }: Principal,
  ): Promise<CircuitView> {
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
