import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DirectoryFollower, Ranker, RegistryClock, StrongReader } from '#rollcall/registry';
import { callerOf } from '../auth/caller.js';
import { Permit } from '../auth/route.access.js';
import { closeSignal } from '../http/close.signal.js';
import { JSON_TYPE } from '../http/json-type.js';
import { Problems } from '../http/problems.js';
import { Repeatable } from '../mutation/repeatable.js';
import { QUERY_EXAMPLES } from './agents.examples.js';
import { QueryBody } from './query.dto.js';
import { QueryReader } from './query.reader.js';
import { RankingView } from './ranking.view.js';

@ApiTags('agents')
@Controller()
export class DiscoveryController {
  constructor(
    private readonly ranker: Ranker,
    private readonly strong: StrongReader,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly queries: QueryReader,
  ) {}

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
      'the agents bid, and the response has the bidders; this requires the permission `contracts:announce`, too.',
  })
  @ApiOkResponse({ type: RankingView, description: 'The ranking.' })
  @Problems('UNKNOWN_STRATEGY', 'INVALID_QUERY', 'DIRECTORY_STALE')
  async query(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const caller = callerOf(request);
    const { namespace } = caller;
    const { body } = request;
    if (this.queries.contracts.accepts(body)) {
      const ranking = await this.queries.contracts.rank(body, caller, closeSignal(reply));
      return void reply.type(JSON_TYPE).send(JSON.stringify(ranking));
    }
    const planned = this.queries.find(namespace, body) ?? (await this.queries.read(namespace, body));
    const { query, plan, strong } = planned;
    if (strong) await this.strong.prepare(query);
    else if (!this.follower.isFresh) await this.refresh(reply);
    const departed = plan.explain ? await this.strong.departed(plan) : [];
    void reply.type(JSON_TYPE).send(this.ranker.rankJson(plan, this.clock.now(), departed));
  }

  /** If the directory cannot catch up with the event log, the response has the age of the directory in seconds. */
  private async refresh(reply: FastifyReply): Promise<void> {
    await this.follower.refresh();
    if (!this.follower.isFresh) void reply.header('age', Math.round(this.follower.ageMs() / 1_000));
  }
}
