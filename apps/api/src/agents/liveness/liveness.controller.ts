import { Controller, HttpCode, Inject, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { localIdOf, qualifiedId } from '#rollcall/platform';
import {
  AgentsService,
  type BeatResult,
  type Heartbeat,
  HeartbeatBatcher,
  type LeasePolicy,
  nextIntervalMs,
} from '#rollcall/registry';
import { Permit } from '../../auth/route.access.js';
import { JSON_TYPE } from '../../http/body/json-body.parser.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { replyProblem } from '../../http/problems/problem.js';
import { Limits } from '../../http/server/routes.js';
import { requiredOwner } from '../agent.credential.js';
import { AGENT_ID } from '../agents.examples.js';
import { readBatch, readBeat } from './beat.reader.js';
import {
  BatchBody,
  BeatBody,
  HeartbeatBatchView,
  heartbeatJson,
  HeartbeatResultView,
  HeartbeatView,
  LEASE_POLICY,
} from './heartbeat.js';
import { Repeatable } from '../../mutation/mutation.js';
import { callerOf } from '../../auth/principal.js';
import { WorkNotices } from '../work/work.notices.js';

type BeatRequest = FastifyRequest<{ Params: { id: string } }>;

@ApiTags('agents')
@Controller()
export class LivenessController {
  private lastTime = { at: NaN, text: '' };

  constructor(
    private readonly heartbeats: HeartbeatBatcher,
    private readonly agents: AgentsService,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
    private readonly notices: WorkNotices,
  ) {}

  @Post('agents/:id/heartbeat')
  @HttpCode(200)
  @Permit('agents:self')
  @Limits({ body: 'small' })
  @Repeatable()
  @ApiOperation({
    operationId: 'agents.heartbeat',
    summary: 'Renew the lease of an agent',
    description:
      'Requires the lease token of the agent, the key that registered it, or the permission of an operator. The response is sent ' +
      'after the commit.',
  })
  @ApiParam(AGENT_ID)
  @ApiBody({ type: BeatBody })
  @ApiOkResponse({ type: HeartbeatView, description: 'The lease is renewed.' })
  @Problems('REGISTER_AGAIN', 'STALE_GENERATION', 'GENERATION_AHEAD', 'LEASE_TOKEN_REFUSED', 'NOT_THE_OWNER')
  beat(@Req() request: BeatRequest, @Res() reply: FastifyReply): void {
    const caller = callerOf(request);
    const agentId = qualifiedId(caller.namespace, request.params.id);
    const beat = readBeat(agentId, request.body, caller.leaseHash ?? null);
    const owner = requiredOwner(caller);
    if (owner === undefined) this.send(beat, reply);
    else void this.sendAsOwner(beat, owner, reply);
  }

  @Post('heartbeats')
  @HttpCode(200)
  @Permit('agents:register')
  @Limits({ body: 'batch' })
  @Repeatable()
  @ApiOperation({
    operationId: 'heartbeats.send',
    summary: 'Renew the leases of many agents',
    description:
      'For processes that act for many agents. Each heartbeat has its own result; an invalid one does not affect the others.',
  })
  @ApiBody({ type: BatchBody })
  @ApiOkResponse({ type: HeartbeatBatchView, description: 'One result for each heartbeat.' })
  async beatAll(@Req() request: FastifyRequest): Promise<HeartbeatBatchView> {
    const { beats, invalid } = readBatch(request.body, callerOf(request).namespace);
    const committed = await this.heartbeats.beatAll(beats);
    const results = committed.map((result, index) => this.toResultView(beats[index].agentId, result));
    for (const { index, agentId, detail } of invalid)
      results.splice(index, 0, { agentId, ok: false, code: 'VALIDATION_FAILED', detail });
    return { results, nextIntervalMs: this.nextIntervalMs() };
  }

  /**
   * Checks the owner before the heartbeat is written. The owner of one generation never changes, so the write checks only the
   * generation.
   */
  private async sendAsOwner(beat: Heartbeat, owner: string, reply: FastifyReply): Promise<void> {
    try {
      await this.agents.check({ ...beat, owner });
      this.send(beat, reply);
    } catch (error) {
      replyProblem(reply, error);
    }
  }

  private send(beat: Heartbeat, reply: FastifyReply): void {
    this.heartbeats.beat(beat, (result) => {
      if (!result.ok) return replyProblem(reply, result.error);
      const beatAt = this.isoTime(result.beatAt);
      const json = heartbeatJson({ beatAt, nextIntervalMs: this.nextIntervalMs(), ...this.notices.of(beat.agentId) });
      return void reply.type(JSON_TYPE).send(json);
    });
  }

  private toResultView(id: string, result: BeatResult): HeartbeatResultView {
    const agentId = localIdOf(id);
    if (result.ok) return { agentId, ok: true, beatAt: this.isoTime(result.beatAt), ...this.notices.of(id) };
    return { agentId, ok: false, code: result.error.code, detail: result.error.message };
  }

  /** All heartbeats of a batch have the same time, so the text of this time is cached. */
  private isoTime(beatAt: number): string {
    if (this.lastTime.at !== beatAt) this.lastTime = { at: beatAt, text: new Date(beatAt).toISOString() };
    return this.lastTime.text;
  }

  private nextIntervalMs(): number {
    return nextIntervalMs(this.lease, Math.random());
  }
}
