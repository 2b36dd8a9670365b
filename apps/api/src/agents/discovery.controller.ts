import { Body, Controller, Get, HttpCode, Post, Put, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LiveRegistry } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { JSON_TYPE } from '../http/json-type.js';
import { Mutation } from '../mutation/mutation.js';
import { Repeatable } from '../mutation/repeatable.js';
import { AGENT_EXAMPLE } from './agents.examples.js';
import { OverrideBody } from './agents.dto.js';
import { type ProtectionView, PROTECTION_EXAMPLE, toProtectionView } from './protection.view.js';
import { QueryBody } from './query.dto.js';
import { QuestionReader } from './question.reader.js';

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
    summary: 'Who can do this, healthy and affordable?',
    description: 'Best first, with reasons; the caller picks.',
  })
  @ApiOkResponse({
    schema: {
      example: {
        prefer: 'cheapest',
        candidates: [{ rank: 1, score: 0, marks: [], reasons: ['$0 a task'], agent: AGENT_EXAMPLE }],
        retryAfterMs: null,
      },
    },
  })
  async query(@Req() { body }: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { query, plan, strong } = this.questions.find(body) ?? (await this.questions.read(body));
    if (strong) await this.registry.strong.prepare(query);
    else if (!this.registry.follower.isFresh) await this.refresh(reply);
    void reply.type(JSON_TYPE).send(this.registry.ranker.rankJson(plan, this.registry.clock.now()));
  }

  /** Adds the age in seconds to an answer from a directory that could not catch up. */
  private async refresh(reply: FastifyReply): Promise<void> {
    const { follower } = this.registry;
    await follower.refresh();
    if (!follower.isFresh) void reply.header('age', Math.round(follower.ageMs() / 1_000));
  }

  @Get('registry/protection')
  @Permit('agents:read')
  @ApiOperation({ summary: 'What self-preservation is doing, and why' })
  @ApiOkResponse({ schema: { example: PROTECTION_EXAMPLE } })
  async protection(): Promise<ProtectionView> {
    return toProtectionView(await this.registry.protection.read());
  }

  @Put('registry/protection')
  @Permit('agents:operate')
  @Mutation({ audit: 'protection.overridden', record: ['override'] })
  @ApiOperation({ summary: 'Hold protection on, have the silent evicted, or let the numbers decide' })
  @ApiOkResponse({ schema: { example: { override: 'protect' } } })
  async override(@Body() { override }: OverrideBody): Promise<OverrideBody> {
    await this.registry.protection.override(override);
    return { override };
  }
}
