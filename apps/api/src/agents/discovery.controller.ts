import { Body, Controller, Get, HttpCode, Post, Put, Req, Res } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { LiveRegistry } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { type Answer, answerTo } from '../http/answer.js';
import { Mutation } from '../mutation/mutation.js';
import { Repeatable } from '../mutation/repeatable.js';
import { AGENT_EXAMPLE } from './agents.examples.js';
import { OverrideBody } from './agents.dto.js';
import { type ProtectionView, PROTECTION_EXAMPLE, toProtectionView } from './protection.view.js';
import { QueryBody } from './query.dto.js';
import { type Question, QuestionReader } from './question.reader.js';

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
    await this.ask(body, answerTo(reply));
  }

  /** At once, if the question is known and what is in memory will do. */
  ask(body: unknown, answer: Answer): void | Promise<void> {
    const known = this.questions.find(body);
    if (known && !known.strong) return this.reply(known, answer);
    return this.askLater(body, answer);
  }

  private async askLater(body: unknown, answer: Answer): Promise<void> {
    const question = await this.questions.read(body);
    if (question.strong) await this.registry.strong.prepare(question.query);
    this.reply(question, answer);
  }

  private reply({ query, text }: Question, answer: Answer): void {
    answer.ok(this.registry.ranker.rankSerialised(query, this.registry.clock.now(), text));
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
