import { Controller, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { DirectoryFollower, Ranker, RegistryClock, StrongReader } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { JSON_TYPE } from '../http/json-type.js';
import { Repeatable } from '../mutation/repeatable.js';
import { AGENT_EXAMPLE } from './agents.examples.js';
import { QueryBody } from './query.dto.js';
import { QuestionReader } from './question.reader.js';

@ApiTags('agents')
@Controller()
export class DiscoveryController {
  constructor(
    private readonly ranker: Ranker,
    private readonly strong: StrongReader,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
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
    if (strong) await this.strong.prepare(query);
    else if (!this.follower.isFresh) await this.refresh(reply);
    void reply.type(JSON_TYPE).send(this.ranker.rankJson(plan, this.clock.now()));
  }

  /** Adds the age in seconds to an answer from a directory that could not catch up. */
  private async refresh(reply: FastifyReply): Promise<void> {
    await this.follower.refresh();
    if (!this.follower.isFresh) void reply.header('age', Math.round(this.follower.ageMs() / 1_000));
  }
}
