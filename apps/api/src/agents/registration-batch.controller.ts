import { Body, Controller, HttpCode, Inject, Post, Req, UseInterceptors } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { type JoinResult, type LeasePolicy, LiveRegistry } from '#rollcall/registry';
import { Authenticator } from '../auth/authenticator.js';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { problemOf } from '../http/problem.reply.js';
import { Limits } from '../http/route.limits.js';
import { Mutation } from '../mutation/mutation.js';
import { RegisterBatchBody } from './agents.dto.js';
import { REGISTRATION_EXAMPLE } from './agents.examples.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { type BatchItem, BatchItems, RegistrationBatchReader } from './registration-batch.reader.js';
import { type RegistrationAnswer, toJoinRequest, toRegistrationAnswer } from './registration.mapper.js';

/** The answer of `POST /v1/agents` to one registration: its status, and its body or its problem. */
type BatchResult =
  { status: 201; registration: RegistrationAnswer } | { status: number; problem: Record<string, unknown> };

@ApiTags('agents')
@Controller('agents/batch')
export class RegistrationBatchController {
  constructor(
    private readonly registry: LiveRegistry,
    private readonly authenticator: Authenticator,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  @Post()
  @HttpCode(200)
  @Permit('agents:register')
  @Limits({ body: 'batch' })
  @Mutation({ audit: null })
  @UseInterceptors(RegistrationBatchReader)
  @ApiOperation({
    summary: 'Register many agents',
    description:
      'Up to 1,000 registrations. Each has a result of its own, in the order of the request: `status` 201 and the answer of ' +
      '`POST /v1/agents` as `registration`, or another status and a `problem`. An invalid registration does not affect the others.',
  })
  @ApiOkResponse({
    schema: {
      example: {
        results: [
          { status: 201, registration: REGISTRATION_EXAMPLE },
          { status: 409, problem: { code: 'AGENT_ALREADY_REGISTERED', status: 409, title: 'Already registered' } },
        ],
      },
    },
  })
  async register(
    @Body() _body: RegisterBatchBody,
    @BatchItems() items: readonly BatchItem[],
    @Caller() caller: Principal,
    @Req() { id: requestId }: FastifyRequest,
  ): Promise<{ results: BatchResult[] }> {
    const requests = items.flatMap((item) => (item.ok ? [toJoinRequest(item.body, caller)] : []));
    const joined = (await this.registry.agents.registerAll(requests)).values();
    const results = items.map((item): BatchResult => {
      const result = item.ok ? joined.next().value : ({ state: 'rejected', error: item.error } as const);
      return this.toResult(result, requestId);
    });
    return { results };
  }

  private toResult(
    result: JoinResult | { state: 'rejected'; error: unknown } | undefined,
    requestId: string,
  ): BatchResult {
    if (result?.state === 'joined') {
      this.authenticator.rememberLease(result.joined.leaseToken);
      return { status: 201, registration: toRegistrationAnswer(result.joined, this.lease) };
    }
    const { status, body } = problemOf(result?.error, requestId);
    return { status, problem: body };
  }
}
