import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Permit } from '../../auth/route.access.js';
import { JSON_TYPE } from '../../http/body/json-body.parser.js';
import { closeSignal } from '../../http/close.signal.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { QUERY_EXAMPLES } from '../agents.examples.js';
import { AgentQueries } from './agent.queries.js';
import { QueryBody } from './query.dto.js';
import { RankingView } from './ranking.view.js';
import { Repeatable } from '../../mutation/mutation.js';
import { callerOf } from '../../auth/principal.js';

@ApiTags('agents')
@Controller()
export class DiscoveryController {
  constructor(private readonly queries: AgentQueries) {}

  @Post('agents/query')
  @HttpCode(200)
  @Permit('agents:query')
  @Repeatable()
  @ApiBody({ type: QueryBody, examples: QUERY_EXAMPLES })
  @ApiOperation({
    operationId: 'agents.query',
    summary: 'Find agents by capability, health and cost',
    description:
      'Returns routable agents, best first, with the reasons for the order. The caller picks one. With `prefer: "contract-net"`, ' +
      'the agents bid, and the response lists the bidders; such a query also requires the permission `contracts:announce`.',
  })
  @ApiOkResponse({ type: RankingView, description: 'The ranking.' })
  @Problems('UNKNOWN_STRATEGY', 'INVALID_QUERY', 'DIRECTORY_STALE')
  async query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { json, age } = await this.queries.answer(request.body, callerOf(request), () => closeSignal(reply));
    if (age !== undefined) void reply.header('age', age);
    void reply.type(JSON_TYPE).send(json);
  }
}
