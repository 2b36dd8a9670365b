import {
  Body,
  Controller,
  Delete,
  Get,
  HttpCode,
  Inject,
  Param,
  Patch,
  Post,
  Query,
  UseInterceptors,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiPreconditionFailedResponse,
  ApiPropertyOptional,
  ApiTags,
} from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, Length } from 'class-validator';
import { EndpointCheck } from '#rollcall/providers';
import {
  type AgentRecord,
  type AgentStatus,
  LiveRegistry,
  type LeasePolicy,
  type VersionedAgent,
} from '#rollcall/registry';
import { Authenticator } from '../auth/authenticator.js';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { type Page, PageQuery, readCursor, toPage } from '../http/page.js';
import { Mutation } from '../mutation/mutation.js';
import { claimOf } from './agent.claim.js';
import { IfMatch, VersionTag } from './agent.version.js';
import { LeaveQuery, RegisterBody } from './agents.dto.js';
import { LEASE_POLICY } from './agents.tokens.js';
import { type RegistrationAnswer, toJoinRequest, toRegistrationAnswer } from './registration.mapper.js';
import { AGENT_EXAMPLE, REGISTRATION_EXAMPLE } from './agents.examples.js';
import { toUpdate, UpdateBody } from './update.dto.js';

/** What the audit log keeps of an operator's change: all that is short. */
const RECORDED = ['name', 'endpoint', 'capabilities', 'sandboxLevel', 'provider', 'costModel', 'labels', 'version'];
const STATUSES: AgentStatus[] = ['active', 'suspect', 'draining', 'quarantined', 'left'];

class AgentsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: STATUSES, description: 'All but those that have left, unless told.' })
  @IsOptional()
  @IsIn(STATUSES)
  status?: AgentStatus;
  @ApiPropertyOptional({ example: 'build' }) @IsOptional() @IsString() @Length(1, 100) capability?: string;
}

@ApiTags('agents')
@Controller('agents')
export class AgentsController {
  constructor(
    private readonly registry: LiveRegistry,
    private readonly endpoints: EndpointCheck,
    private readonly authenticator: Authenticator,
    @Inject(LEASE_POLICY) private readonly lease: LeasePolicy,
  ) {}

  @Post()
  @Permit('agents:register')
  @Mutation({ audit: null })
  @ApiOperation({
    summary: 'Join',
    description: 'Answers the lease token that every later write needs. Beat every `intervalMs` or be evicted.',
  })
  @ApiCreatedResponse({ schema: { example: REGISTRATION_EXAMPLE } })
  async register(@Body() body: RegisterBody, @Caller() caller: Principal): Promise<RegistrationAnswer> {
    if (body.endpoint) body.endpoint = await this.endpoints.check(body.endpoint);
    const joined = await this.registry.agents.register(toJoinRequest(body, caller));
    this.authenticator.rememberLease(joined.leaseToken);
    return toRegistrationAnswer(joined, this.lease);
  }

  @Get()
  @Permit('agents:read')
  @ApiOperation({ summary: 'List agents by agentId' })
  @ApiOkResponse({ schema: { example: { items: [AGENT_EXAMPLE], nextCursor: null } } })
  async list(@Query() { limit, cursor, status, capability }: AgentsQuery): Promise<Page<AgentRecord>> {
    const capabilityKeys = capability === undefined ? undefined : this.registry.directory.aliases.wordsFor(capability);
    const after = readCursor(cursor, /^\P{Cc}{1,128}$/u);
    const rows = await this.registry.agents.list(limit + 1, after, { status, capabilityKeys });
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
  @UseInterceptors(VersionTag)
  async get(@Param('id') id: string): Promise<VersionedAgent> {
    return await this.registry.agents.getVersioned(id);
  }

  @Patch(':id')
  @Permit('agents:self')
  @Mutation({ audit: 'agent.updated', unlessBy: 'lease', record: RECORDED })
  @UseInterceptors(VersionTag)
  @ApiOperation({
    summary: 'Say something else of itself',
    description:
      'With the lease token, or by an operator. What is left out stays. With `If-Match` only if the record is as it was ' +
      'when it was read. A change that changes nothing is told to nobody.',
  })
  @ApiHeader({ name: 'If-Match', required: false, description: 'The `ETag` of the record as it was read.' })
  @ApiOkResponse({ schema: { example: AGENT_EXAMPLE } })
  @ApiPreconditionFailedResponse({ description: 'AGENT_CHANGED: it is not as it was when it was read.' })
  async update(
    @Param('id') id: string,
    @Body() body: UpdateBody,
    @Caller() caller: Principal,
    @IfMatch() ifVersion: string | undefined,
  ): Promise<VersionedAgent> {
    const claim = claimOf(id, body.generation, caller);
    if (body.endpoint) {
      await this.registry.agents.check(claim); // who may not act must not make us resolve names
      body.endpoint = await this.endpoints.check(body.endpoint);
    }
    return await this.registry.agents.update(claim, toUpdate(body), ifVersion);
  }

  @Delete(':id')
  @HttpCode(204)
  @Permit('agents:self')
  @Mutation({ audit: 'agent.deregistered', unlessBy: 'lease' })
  @ApiOperation({ summary: 'Leave', description: 'With the lease token, or by an operator.' })
  @ApiNoContentResponse({ description: 'It has left.' })
  async deregister(
    @Param('id') agentId: string,
    @Query() { generation, reason }: LeaveQuery,
    @Caller() caller: Principal,
  ): Promise<void> {
    await this.registry.agents.deregister(claimOf(agentId, generation, caller), reason);
  }
}
