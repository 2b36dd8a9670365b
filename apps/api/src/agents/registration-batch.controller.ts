import { Body, Controller, HttpCode, Inject, Post, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { AgentsService, type JoinResult, type LeasePolicy } from '#rollcall/registry';
import { Authenticator } from '../auth/authenticator.js';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { problemOf } from '../http/problem.reply.js';
import type { ProblemView } from '../http/problem.view.js';
import { Limits } from '../http/route.limits.js';
import { Effect } from '../mutation/effect.js';
import { Mutation } from '../mutation/mutation.js';
import { RegisterBatchBody } from './agents.dto.js';
import { REGISTER_BATCH_EXAMPLES } from './agents.examples.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { type BatchItem, RegistrationBatchReader } from './registration-batch.reader.js';
import { type RegistrationResultView, RegistrationResultsView } from './registration-batch.view.js';
import { toJoinRequest, toRegistrationView } from './registration.mapper.js';

type Rejected = { state: 'rejected'; error: unknown };

@ApiTags('agents')
@Controller('agents/batch')
export class RegistrationBatchController {
  constructor(
    private readonly agents: AgentsService,
    private readonly reader: RegistrationBatchReader,
    private readonly authenticator: Authenticator,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  @Post()
  @HttpCode(200)
  @Permit('agents:register')
  @Limits({ body: 'batch' })
  @Mutation({ audit: null, prepares: true })
  @ApiOperation({
    operationId: 'agents.registerBatch',
    summary: 'Register many agents',
    description:
      'Up to 1,000 registrations. Each has its own result, in the order of the request: `status` 201 and the response of ' +
      '`POST /v1/agents` as `registration`, or another status and a `problem`. An invalid registration does not affect the others.',
  })
  @ApiBody({ type: RegisterBatchBody, examples: REGISTER_BATCH_EXAMPLES })
  @ApiOkResponse({ type: RegistrationResultsView, description: 'A result for each registration.' })
  async register(
    @Body() body: unknown,
    @Caller() caller: Principal,
    @Req() { id: requestId }: FastifyRequest,
  ): Promise<Effect<RegistrationResultsView>> {
    const items = await this.reader.read(body);
    return new Effect(async () => ({ results: await this.join(items, caller, requestId) }));
  }

  private async join(
    items: readonly BatchItem[],
    caller: Principal,
    requestId: string,
  ): Promise<RegistrationResultView[]> {
    const requests = items.flatMap((item) => (item.ok ? [toJoinRequest(item.body, caller)] : []));
    const joined = (await this.agents.registerAll(requests)).values();
    return items.map((item) => {
      const result = item.ok ? joined.next().value : ({ state: 'rejected', error: item.error } as const);
      return this.toResult(result, requestId);
    });
  }

  private toResult(result: JoinResult | Rejected | undefined, requestId: string): RegistrationResultView {
    if (result?.state === 'joined') {
      this.authenticator.cacheLease(result.joined.leaseToken, result.joined.record.namespace);
      return { status: 201, registration: toRegistrationView(result.joined, this.lease) };
    }
    const { status, body } = problemOf(result?.error, requestId);
    return { status, problem: body as unknown as ProblemView };
  }
}
