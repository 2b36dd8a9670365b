import { Body, Controller, HttpCode, Inject, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import {
  type BeatResult,
  type CircuitView,
  hashOfToken,
  type Heartbeat,
  type LeasePolicy,
  LiveRegistry,
  nextIntervalMs,
  type ProbeClaim,
} from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { BatchBody, BeatBody, OutcomeBody, ProbeBody } from './agents.dto.js';
import { LEASE_POLICY } from './agents.tokens.js';

interface BeatAnswer {
  beatAt: string;
  nextIntervalMs: number;
}

type BatchAnswer = { agentId: string } & ({ ok: true; beatAt: string } | { ok: false; code: string; detail: string });

@ApiTags('agents')
@Controller()
export class LivenessController {
  constructor(
    private readonly registry: LiveRegistry,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  @Post('agents/:id/heartbeat')
  @HttpCode(200)
  @Permit('agents:self')
  @Mutation({ audit: null })
  @ApiOperation({ summary: 'I am alive', description: 'With the lease token. Answered when it is durable.' })
  @ApiOkResponse({ schema: { example: { beatAt: '2026-02-24T10:30:00.000Z', nextIntervalMs: 9_412 } } })
  async beat(@Param('id') agentId: string, @Body() body: BeatBody, @Caller() caller: Principal): Promise<BeatAnswer> {
    const [result] = await this.registry.heartbeats.beatAll([toBeat(agentId, body, caller.leaseHash ?? null)]);
    if (!result?.ok) throw result?.error ?? new Error('a beat was not answered');
    return { beatAt: new Date(result.beatAt).toISOString(), nextIntervalMs: nextIntervalMs(this.lease, Math.random()) };
  }

  @Post('heartbeats')
  @HttpCode(200)
  @Permit('agents:register')
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'All these are alive',
    description: 'For sidecars that speak for many agents. Each beat has a result of its own.',
  })
  @ApiOkResponse({
    schema: {
      example: {
        results: [{ agentId: 'builder-01', ok: true, beatAt: '2026-02-24T10:30:00.000Z' }],
        nextIntervalMs: 9_412,
      },
    },
  })
  async beatAll(@Body() { beats }: BatchBody): Promise<{ results: BatchAnswer[]; nextIntervalMs: number }> {
    const results = await this.registry.heartbeats.beatAll(
      beats.map((beat) => toBeat(beat.agentId, beat, hashOfToken(beat.leaseToken))),
    );
    return {
      results: results.map((result, index) => toAnswer(beats[index]?.agentId ?? '', result)),
      nextIntervalMs: nextIntervalMs(this.lease, Math.random()),
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
    return await this.registry.circuits.report(agentId, { ok, probeId });
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
    return await this.registry.circuits.claimProbe(agentId, probeId);
  }
}

function toBeat(agentId: string, body: BeatBody, tokenHash: string | null): Heartbeat {
  const { generation, inFlight, load: loadRatio, latencyMs: observedMs, usedTokens } = body;
  return { agentId, generation, tokenHash, inFlight, loadRatio, observedMs, usedTokens };
}

function toAnswer(agentId: string, result: BeatResult): BatchAnswer {
  if (result.ok) return { agentId, ok: true, beatAt: new Date(result.beatAt).toISOString() };
  return { agentId, ok: false, code: result.error.code, detail: result.error.message };
}
