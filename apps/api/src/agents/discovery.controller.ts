import { Body, Controller, Get, HttpCode, Post, Put, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LiveRegistry } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { JSON_TYPE } from '../http/json-type.js';
import { Problems } from '../http/problems.js';
import { Mutation } from '../mutation/mutation.js';
import { Repeatable } from '../mutation/repeatable.js';
import { OverrideBody } from './agents.dto.js';
import { OverrideView, ProtectionView, toProtectionView } from './protection.view.js';
import { QueryBody } from './query.dto.js';
import { QuestionReader } from './question.reader.js';
import { RankingView } from './ranking.view.js';

@ApiTags('agents')
@Controller()
export class DiscoveryController {
  constructor(
    private readonly registry: LiveRegistry,
    private readonly questions: QuestionReader,
  ) {}

  @Post('agents/query')
  @HttpCode(200)
  @Permit('agents:read')
  @Repeatable()
  @ApiBody({ type: QueryBody })
  @ApiOperation({
    operationId: 'agents.query',
    summary: 'Find agents by capability, health and cost',
    description: 'Returns routable agents, best first, with the reasons for the order. The caller picks one.',
  })
  @ApiOkResponse({ type: RankingView, description: 'The ranking.' })
  @Problems('UNKNOWN_STRATEGY', 'INVALID_QUERY', 'DIRECTORY_STALE')
  async query(@Req() { body }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { query, text, strong } = this.questions.find(body) ?? (await this.questions.read(body));
    if (strong) await this.registry.strong.prepare(query);
    else if (!this.registry.follower.isFresh) await this.refresh(reply);
    void reply.type(JSON_TYPE).send(this.registry.ranker.rankSerialised(query, this.registry.clock.now(), text));
  }

  /** The header `age` reports how old a directory is that could not catch up, in seconds. */
  private async refresh(reply: FastifyReply): Promise<void> {
    const { follower } = this.registry;
    await follower.refresh();
    if (!follower.isFresh) void reply.header('age', Math.round(follower.ageMs() / 1_000));
  }

  @Get('registry/protection')
  @Permit('agents:read')
  @ApiOperation({ operationId: 'protection.get', summary: 'Get the state of self-preservation' })
  @ApiOkResponse({ type: ProtectionView, description: 'The state, and the reason for it.' })
  async protection(): Promise<ProtectionView> {
    return toProtectionView(await this.registry.protection.read());
  }

  @Put('registry/protection')
  @Permit('agents:operate')
  @Mutation({ audit: 'protection.overridden', record: ['override'] })
  @ApiOperation({
    operationId: 'protection.override',
    summary: 'Override self-preservation',
    description: 'Keep it on, evict silent agents, or let the numbers decide.',
  })
  @ApiOkResponse({ type: OverrideView, description: 'The override in effect.' })
  async override(@Body() { override }: OverrideBody): Promise<OverrideView> {
    await this.registry.protection.override(override);
    return { override };
  }
}
