import { Body, Controller, Get, Header, HttpCode, Post, Put } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { LiveRegistry } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { AGENT_EXAMPLE } from './agents.examples.js';
import { OverrideBody } from './agents.dto.js';
import { type ProtectionView, PROTECTION_EXAMPLE, toProtectionView } from './protection.view.js';
import { QueryBody, toQuery } from './query.dto.js';

@ApiTags('agents')
@Controller()
export class DiscoveryController {
  constructor(private readonly registry: LiveRegistry) {}

  @Post('agents/query')
  @HttpCode(200)
  @Permit('agents:read')
  @Header('content-type', 'application/json; charset=utf-8')
  @Mutation({ audit: null })
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
  async query(@Body() body: QueryBody): Promise<unknown> {
    const query = toQuery(body);
    if (body.consistency === 'strong') await this.registry.strong.prepare(query);
    return this.registry.ranker.rank(query, this.registry.clock.now());
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
