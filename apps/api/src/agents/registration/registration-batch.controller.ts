import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyRequest } from 'fastify';
import { Permit } from '../../auth/route.access.js';
import { Limits } from '../../http/server/routes.js';
import { Effect } from '../../mutation/effect.js';
import { Mutation } from '../../mutation/mutation.js';
import { REGISTER_BATCH_EXAMPLES } from '../agents.examples.js';
import { RegistrationBatches, RegistrationResultView } from './registration.batches.js';
import { RegisterBatchBody } from './registration.dto.js';
import { Caller, type Principal } from '../../auth/principal.js';

class RegistrationResultsView {
  @ApiProperty({ type: [RegistrationResultView], description: 'One result for each registration, in the same order.' })
  results: RegistrationResultView[];
}

@ApiTags('agents')
@Controller('agents/batch')
export class RegistrationBatchController {
  constructor(private readonly batches: RegistrationBatches) {}

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
    const items = await this.batches.read(body);
    return new Effect(async () => ({ results: await this.batches.register(items, caller, requestId) }));
  }
}
