import { Body, Controller, Delete, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiPropertyOptional,
  ApiTags,
} from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { EgressPolicy } from '#rollcall/providers';
import { type AgentRecord, type AgentStatus, leaseTtlMs, LiveRegistry, type LeasePolicy } from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { type Page, PageQuery, readCursor, toPage } from '../http/page.js';
import { Mutation } from '../mutation/mutation.js';
import { LeaveQuery, RegisterBody, WishBody } from './agents.dto.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { toRegistration } from './registration.mapper.js';
import { AGENT_EXAMPLE } from './agents.examples.js';

const STATUSES: AgentStatus[] = ['active', 'suspect', 'draining', 'quarantined', 'left'];

class AgentsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: STATUSES, description: 'All but those that have left, unless told.' })
  @IsOptional()
  @IsIn(STATUSES)
  status?: AgentStatus;
  @ApiPropertyOptional({ example: 'build' }) @IsOptional() @IsString() @MaxLength(100) capability?: string;
}

interface RegistrationAnswer {
  agentId: string;
  generation: number;
  leaseToken: string;
  heartbeat: { intervalMs: number; leaseMs: number };
  agent: AgentRecord;
}

@ApiTags('agents')
@Controller('agents')
export class AgentsController {
  constructor(
    private readonly registry: LiveRegistry,
    private readonly egress: EgressPolicy,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  @Post()
  @Permit('agents:register')
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'Join',
    description: 'Answers the lease token that every later write needs. Beat every `intervalMs` or be evicted.',
  })
  @ApiCreatedResponse({
    schema: {
      example: {
        agentId: 'builder-01',
        generation: 1,
        leaseToken: 'rl_…',
        heartbeat: { intervalMs: 10_000, leaseMs: 31_000 },
        agent: AGENT_EXAMPLE,
      },
    },
  })
  async register(@Body() body: RegisterBody, @Caller() caller: Principal): Promise<RegistrationAnswer> {
    if (body.endpoint) this.egress.checkUrl(body.endpoint);
    const { agentId = null, leaseToken: token = null } = body;
    const { record, leaseToken } = await this.registry.agents.register({
      agentId,
      leaseToken: token,
      by: caller.id,
      facts: toRegistration(body),
    });
    const heartbeat = { intervalMs: this.lease.intervalMs, leaseMs: leaseTtlMs(this.lease) };
    return { agentId: record.agentId, generation: record.generation, leaseToken, heartbeat, agent: record };
  }

  @Get()
  @Permit('agents:read')
  @ApiOperation({ summary: 'List agents by agentId' })
  @ApiOkResponse({ schema: { example: { items: [AGENT_EXAMPLE], nextCursor: null } } })
  async list(@Query() { limit, cursor, ...filter }: AgentsQuery): Promise<Page<AgentRecord>> {
    const rows = await this.registry.agents.list(limit + 1, readCursor(cursor, /^.{1,128}$/), filter);
    return toPage(
      rows,
      limit,
      (record) => record,
      ({ agentId }) => agentId,
    );
  }

  @Get(':id')
  @Permit('agents:read')
  @ApiOperation({
    summary: 'Look at one agent',
    description: 'Also at one that has left, for as long as history is kept.',
  })
  @ApiOkResponse({ schema: { example: AGENT_EXAMPLE } })
  async get(@Param('id') id: string): Promise<AgentRecord> {
    return await this.registry.agents.get(id);
  }

  @Delete(':id')
  @HttpCode(204)
  @Permit('agents:self')
  @Mutation({ audit: null })
  @ApiOperation({ summary: 'Leave', description: 'With the lease token.' })
  @ApiNoContentResponse({ description: 'It has left.' })
  async deregister(
    @Param('id') agentId: string,
    @Query() { generation }: LeaveQuery,
    @Caller() caller: Principal,
  ): Promise<void> {
    await this.registry.agents.deregister({ agentId, generation, tokenHash: caller.leaseHash ?? null });
  }

  @Post(':id/evict')
  @HttpCode(204)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.evicted' })
  @ApiOperation({ summary: 'Remove an agent by force' })
  @ApiNoContentResponse({ description: 'It is gone.' })
  async evict(@Param('id') id: string): Promise<void> {
    await this.registry.agents.remove(id, 'evicted');
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
    return await this.registry.agents.want(id, 'draining', note ?? null, by);
  }

  @Post(':id/quarantine')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.quarantined', record: ['note'] })
  @ApiOperation({ summary: 'Keep it out of every answer', description: 'Holds when it registers again.' })
  @ApiOkResponse({ schema: { example: AGENT_EXAMPLE } })
  async quarantine(
    @Param('id') id: string,
    @Body() { note }: WishBody,
    @Caller() { id: by }: Principal,
  ): Promise<AgentRecord> {
    return await this.registry.agents.want(id, 'quarantined', note ?? null, by);
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
    return await this.registry.agents.want(id, 'active', note ?? null, by);
  }
}
