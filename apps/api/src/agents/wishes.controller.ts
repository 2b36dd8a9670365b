import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import { ApiNoContentResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AgentRecord, AgentsService } from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { QuarantineBody, WishBody } from './agents.dto.js';
import { AGENT_EXAMPLE } from './agents.examples.js';

/** What operators want of an agent. Each act is in the audit log. */
@ApiTags('agents')
@Controller('agents')
export class WishesController {
  constructor(private readonly agents: AgentsService) {}

  @Post(':id/evict')
  @HttpCode(204)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.evicted' })
  @ApiOperation({ summary: 'Remove an agent by force' })
  @ApiNoContentResponse({ description: 'It is gone.' })
  async evict(@Param('id') id: string): Promise<void> {
    await this.agents.remove(id, 'evicted');
  }

  @Post(':id/drain')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.drained', record: ['note'] })
  @ApiOperation({ summary: 'Give it no new tasks', description: 'Holds when it registers again.' })
  @ApiOkResponse({ schema: { example: AGENT_EXAMPLE } })
  async drain(
    @Param('id') id: string,
    @Body() { note }: WishBody,
    @Caller() { id: by }: Principal,
  ): Promise<AgentRecord> {
    return await this.agents.want(id, 'draining', note ?? null, by);
  }

  @Post(':id/quarantine')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.quarantined', record: ['note', 'evict'] })
  @ApiOperation({
    summary: 'Keep it out of every answer',
    description: 'Holds when it registers again. With `evict` it leaves at once, with the reason `quarantined`.',
  })
  @ApiOkResponse({ schema: { example: AGENT_EXAMPLE } })
  async quarantine(
    @Param('id') id: string,
    @Body() { note, evict }: QuarantineBody,
    @Caller() { id: by }: Principal,
  ): Promise<AgentRecord> {
    const { agents } = this;
    if (evict) return await agents.expel(id, note ?? null, by);
    return await agents.want(id, 'quarantined', note ?? null, by);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.resumed', record: ['note'] })
  @ApiOperation({ summary: 'Let it work again' })
  @ApiOkResponse({ schema: { example: AGENT_EXAMPLE } })
  async resume(
    @Param('id') id: string,
    @Body() { note }: WishBody,
    @Caller() { id: by }: Principal,
  ): Promise<AgentRecord> {
    return await this.agents.want(id, 'active', note ?? null, by);
  }
}
