import { Body, Controller, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { localIdOf, qualifiedId } from '#rollcall/platform';
import {
  type BeatResult,
  CircuitService,
  HeartbeatBatcher,
  type LeasePolicy,
  nextIntervalMs,
} from '#rollcall/registry';
import { Caller, callerOf } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { JSON_TYPE } from '../http/json-type.js';
import { replyProblem } from '../http/problem.reply.js';
import { Problems } from '../http/problems.js';
import { Limits } from '../http/route.limits.js';
import { Mutation } from '../mutation/mutation.js';
import { Repeatable } from '../mutation/repeatable.js';
import { BatchBody, BeatBody, OutcomeBody, ProbeBody } from './agents.dto.js';
import { AGENT_ID } from './agents.examples.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { readBatch, readBeat } from './beat.reader.js';
import {
  CircuitView,
  HeartbeatBatchView,
  heartbeatJson,
  HeartbeatResultView,
  HeartbeatView,
  ProbeView,
} from './liveness.view.js';

type BeatRequest = FastifyRequest<{ Params: { id: string } }>;

@ApiTags('agents')
@Controller()
export class LivenessController {
  private lastTime = { at: NaN, text: '' };

  constructor(
    private readonly heartbeats: HeartbeatBatcher,
    private readonly circuits: CircuitService,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  @Post('agents/:id/heartbeat')
  @HttpCode(200)
  @Permit('agents:self')
  @Limits({ body: 'small' })
  @Repeatable()
  @ApiOperation({
    operationId: 'agents.heartbeat',
    summary: 'Renew the lease of an agent',
    description: 'Requires the lease token of the agent as the credential. The response is sent after the commit.',
  })
  @ApiParam(AGENT_ID)
  @ApiBody({ type: BeatBody })
  @ApiOkResponse({ type: HeartbeatView, description: 'The lease is renewed.' })
  @Problems('REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD', 'LEASE_TOKEN_REFUSED')
  beat(@Req() request: BeatRequest, @Res() reply: FastifyReply): void {
    const { namespace, leaseHash } = callerOf(request);
    const beat = readBeat(qualifiedId(namespace, request.params.id), request.body, leaseHash ?? null);
    this.heartbeats.beat(beat, (result) => {
      if (!result.ok) return replyProblem(reply, result.error);
      const json = heartbeatJson({ beatAt: this.isoTime(result.beatAt), nextIntervalMs: this.nextIntervalMs() });
      return void reply.type(JSON_TYPE).send(json);
    });
  }

  @Post('heartbeats')
  @HttpCode(200)
  @Permit('agents:register')
  @Limits({ body: 'batch' })
  @Repeatable()
  @ApiOperation({
    operationId: 'heartbeats.send',
    summary: 'Renew the leases of many agents',
    description: 'For processes that act for many agents. Each heartbeat has its own result.',
  })
  @ApiBody({ type: BatchBody })
  @ApiOkResponse({ type: HeartbeatBatchView, description: 'One result for each heartbeat.' })
  async beatAll(@Req() request: FastifyRequest): Promise<HeartbeatBatchView> {
    const beats = readBatch(request.body, callerOf(request).namespace);
    const results = await this.heartbeats.beatAll(beats);
    return {
      results: results.map((result, index) => this.toResultView(localIdOf(beats[index].agentId), result)),
      nextIntervalMs: this.nextIntervalMs(),
    };
  }

  @Post('agents/:id/outcomes')
  @HttpCode(200)
  @Permit('agents:report')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'agents.reportOutcome',
    summary: 'Report the outcome of a call to an agent',
    description: 'Consecutive failures open the circuit of the agent for all callers.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: CircuitView, description: 'The circuit after this outcome.' })
  @Problems('AGENT_NOT_FOUND')
  async report(
    @Param('id') id: string,
    @Body() { ok, probeId }: OutcomeBody,
    @Caller() { namespace }: Principal,
  ): Promise<CircuitView> {
    return await this.circuits.report(qualifiedId(namespace, id), { ok, probeId });
  }

  @Post('agents/:id/probe')
  @HttpCode(200)
  @Permit('agents:report')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'agents.claimProbe',
    summary: 'Claim the probe of a half-open circuit',
    description: 'Only one of all callers on all replicas gets the probe.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: ProbeView, description: '`claimed` is true if this caller has the probe.' })
  @Problems('AGENT_NOT_FOUND')
  async probe(
    @Param('id') id: string,
    @Body() { probeId }: ProbeBody,
    @Caller() { namespace }: Principal,
  ): Promise<ProbeView> {
    return await this.circuits.claimProbe(qualifiedId(namespace, id), probeId);
  }

  private toResultView(agentId: string, result: BeatResult): HeartbeatResultView {
    if (result.ok) return { agentId, ok: true, beatAt: this.isoTime(result.beatAt) };
    return { agentId, ok: false, code: result.error.code, detail: result.error.message };
  }

  /** All beats of a batch have the same time, so its text is cached. */
  private isoTime(beatAt: number): string {
    if (this.lastTime.at !== beatAt) this.lastTime = { at: beatAt, text: new Date(beatAt).toISOString() };
    return this.lastTime.text;
  }

  private nextIntervalMs(): number {
    return nextIntervalMs(this.lease, Math.random());
  }
}
