import { Body, Controller, HttpCode, Inject, Param, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type BeatResult,
  CircuitService,
  type CircuitView,
  HeartbeatBatcher,
  type LeasePolicy,
  nextIntervalMs,
  type ProbeClaim,
} from '#rollcall/registry';
import { callerOf } from '../auth/caller.js';
import { Permit } from '../auth/route.access.js';
import { JSON_TYPE } from '../http/json-type.js';
import { replyProblem } from '../http/problem.reply.js';
import { Limits } from '../http/route.limits.js';
import { Mutation } from '../mutation/mutation.js';
import { Repeatable } from '../mutation/repeatable.js';
import { BatchBody, BeatBody, OutcomeBody, ProbeBody } from './agents.dto.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { readBatch, readBeat } from './beat.reader.js';

type BeatRequest = FastifyRequest<{ Params: { id: string } }>;

type BatchAnswer = { agentId: string } & ({ ok: true; beatAt: string } | { ok: false; code: string; detail: string });

@ApiTags('agents')
@Controller()
export class LivenessController {
  private lastMoment = { at: NaN, text: '' };

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
  @ApiOperation({ summary: 'I am alive', description: 'With the lease token. Answered when it is durable.' })
  @ApiParam({ name: 'id', type: String })
  @ApiBody({ type: BeatBody })
  @ApiOkResponse({ schema: { example: { beatAt: '2026-02-24T10:30:00.000Z', nextIntervalMs: 9_412 } } })
  beat(@Req() request: BeatRequest, @Res() reply: FastifyReply): void {
    const beat = readBeat(request.params.id, request.body, callerOf(request).leaseHash ?? null);
    this.heartbeats.beat(beat, (result) => {
      if (!result.ok) return replyProblem(reply, result.error);
      const json = `{"beatAt":"${this.moment(result.beatAt)}","nextIntervalMs":${this.nextIntervalMs()}}`;
      return void reply.type(JSON_TYPE).send(json);
    });
  }

  @Post('heartbeats')
  @HttpCode(200)
  @Permit('agents:register')
  @Limits({ body: 'batch' })
  @Repeatable()
  @ApiOperation({
    summary: 'All these are alive',
    description: 'For sidecars that speak for many agents. Each beat has a result of its own.',
  })
  @ApiBody({ type: BatchBody })
  @ApiOkResponse({
    schema: {
      example: {
        results: [{ agentId: 'builder-01', ok: true, beatAt: '2026-02-24T10:30:00.000Z' }],
        nextIntervalMs: 9_412,
      },
    },
  })
  async beatAll(@Req() { body }: FastifyRequest): Promise<{ results: BatchAnswer[]; nextIntervalMs: number }> {
    const beats = readBatch(body);
    const results = await this.heartbeats.beatAll(beats);
    return {
      results: results.map((result, index) => this.toAnswer(beats[index].agentId, result)),
      nextIntervalMs: this.nextIntervalMs(),
    };
  }

  @Post('agents/:id/outcomes')
  @HttpCode(200)
  @Permit('agents:report')
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'How a call to the agent went',
    description: 'Failures in a row open its circuit for every caller.',
  })
  @ApiOkResponse({
    schema: { example: { phase: 'closed', consecutiveFailures: 0, openUntil: null, retryAfterMs: null } },
  })
  async report(@Param('id') agentId: string, @Body() { ok, probeId }: OutcomeBody): Promise<CircuitView> {
    return await this.circuits.report(agentId, { ok, probeId });
  }

  @Post('agents/:id/probe')
  @HttpCode(200)
  @Permit('agents:report')
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'May I try it?',
    description: 'The one probe of a half-open circuit: of all callers on all replicas, one gets it.',
  })
  @ApiOkResponse({
    schema: {
      example: {
        claimed: true,
        circuit: { phase: 'half_open', consecutiveFailures: 5, openUntil: '2026-02-24T10:30:00.000Z', retryAfterMs: 0 },
        heldUntil: '2026-02-24T10:30:30.000Z',
      },
    },
  })
  async probe(@Param('id') agentId: string, @Body() { probeId }: ProbeBody): Promise<ProbeClaim> {
    return await this.circuits.claimProbe(agentId, probeId);
  }

  private toAnswer(agentId: string, result: BeatResult): BatchAnswer {
    if (result.ok) return { agentId, ok: true, beatAt: this.moment(result.beatAt) };
    return { agentId, ok: false, code: result.error.code, detail: result.error.message };
  }

  /** All beats of a batch have the same. */
  private moment(beatAt: number): string {
    if (this.lastMoment.at !== beatAt) this.lastMoment = { at: beatAt, text: new Date(beatAt).toISOString() };
    return this.lastMoment.text;
  }

  private nextIntervalMs(): number {
    return nextIntervalMs(this.lease, Math.random());
  }
}
