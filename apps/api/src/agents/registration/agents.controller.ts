import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiPropertyOptional,
  ApiTags,
} from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { ArrayMaxSize, IsArray, IsIn, IsOptional, IsString, Length } from 'class-validator';
import { qualifiedId } from '#rollcall/platform';
import { EndpointCheck } from '#rollcall/providers';
import {
  type AgentRecord,
  AgentsService,
  type AgentStatus,
  CapabilityAliases,
  type CircuitPhase,
  type VersionedAgent,
} from '#rollcall/registry';
import { Permit } from '../../auth/route.access.js';
import { IfMatch, SendsVersion, type VersionFormat } from '../../http/etag.js';
import { PagedList, PageQuery } from '../../http/page.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { StorageRate } from '../../limits/storage.rate.js';
import { Effect } from '../../mutation/effect.js';
import { Mutation } from '../../mutation/mutation.js';
import { agentCredential } from '../agent.credential.js';
import { AGENT_STATUSES, AgentPage, AgentView, CIRCUIT_PHASES, RegistrationView } from '../agent.view.js';
import { AGENT_ID, REGISTER_AGENT_EXAMPLES } from '../agents.examples.js';
import { AgentRegistrations } from './agent.registrations.js';
import { LeaveQuery, RegisterBody } from './registration.dto.js';
import { toUpdate, UpdateBody } from './update.dto.js';
import { Caller, type Principal } from '../../auth/principal.js';

/** The fields of an update that the audit log contains. */
const RECORDED = ['name', 'endpoint', 'capabilities', 'sandboxLevel', 'provider', 'costModel', 'labels', 'version'];

const ETAG = {
  ETag: { description: 'The version of the agent, for `If-Match`.', schema: { type: 'string' } },
} as const;
const VERSION: VersionFormat<string> = {
  pattern: /^\d{1,16}\.\d{1,16}$/,
  parse: (text) => text,
  expected: 'the ETag of the record, for example "3.7"',
};
const toVersioned = ({ record, version }: VersionedAgent): { version: string; body: AgentRecord } => ({
  version,
  body: record,
});

/** The errors of requests that change an agent. */
const AS_AGENT = [
  'REGISTER_AGAIN',
  'STALE_GENERATION',
  'GENERATION_AHEAD',
  'LEASE_TOKEN_REFUSED',
  'NOT_THE_OWNER',
] as const;

/** As many as a page has at most. */
const MAX_IDS = 200;
const AGENTS = new PagedList('agents', /^\P{Cc}{1,128}$/u);

class AgentsQuery extends PageQuery {
  @ApiPropertyOptional({ enum: AGENT_STATUSES, description: 'Absent: all agents that have not left.' })
  @IsOptional()
  @IsIn(AGENT_STATUSES)
  status?: AgentStatus;

  @ApiPropertyOptional({ example: 'build', description: 'Only agents that claim this capability.' })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  capability?: string;

  @ApiPropertyOptional({ enum: CIRCUIT_PHASES, description: 'Only agents whose circuit is in this phase.' })
  @IsOptional()
  @IsIn(CIRCUIT_PHASES)
  circuit?: CircuitPhase;

  @ApiPropertyOptional({
    example: 'build',
    description: 'Only agents whose agentId or name contains this text. Upper and lower case are the same.',
  })
  @IsOptional()
  @IsString()
  @Length(1, 100)
  q?: string;

  @ApiPropertyOptional({ type: [String], example: ['builder-01'], description: 'Only these agents, by agentId.' })
  @IsOptional()
  @Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? value.split(',') : value))
  @Length(1, 128, { each: true })
  @IsArray()
  @ArrayMaxSize(MAX_IDS)
  ids?: string[];
}

@ApiTags('agents')
@Controller('agents')
export class AgentsController {
  constructor(
    private readonly agents: AgentsService,
    private readonly aliases: CapabilityAliases,
    private readonly registrations: AgentRegistrations,
    private readonly endpoints: EndpointCheck,
    private readonly storage: StorageRate,
  ) {}

  @Post()
  @Permit('agents:register')
  @Mutation({ audit: null, prepares: true })
  @ApiOperation({
    operationId: 'agents.register',
    summary: 'Register an agent',
    description:
      'Returns the lease token with which the agent authenticates its later writes. Send a heartbeat every `intervalMs`; ' +
      'without heartbeats the agent is evicted.',
  })
  @ApiBody({ type: RegisterBody, examples: REGISTER_AGENT_EXAMPLES })
  @ApiCreatedResponse({ type: RegistrationView, description: 'The agent is listed.' })
  @Problems('AGENT_ALREADY_REGISTERED', 'NOT_THE_OWNER', 'QUOTA_EXCEEDED', 'EGRESS_DENIED')
  async register(@Body() body: RegisterBody, @Caller() caller: Principal): Promise<Effect<RegistrationView>> {
    return await this.registrations.prepare(body, caller);
  }

  @Get()
  @Permit('agents:read')
  @ApiOperation({ operationId: 'agents.list', summary: 'List agents in the order of their agentIds' })
  @ApiOkResponse({ type: AgentPage, description: 'A page of agents.' })
  @Problems('CURSOR_INVALID')
  async list(
    @Query() { limit, cursor, status, capability, circuit, q: text, ids }: AgentsQuery,
    @Caller() { namespace }: Principal,
  ): Promise<AgentPage> {
    const capabilityKeys = capability === undefined ? undefined : this.aliases.searchKeysFor(capability);
    const after = AGENTS.readCursor(cursor);
    const agentIds = ids?.map((id) => qualifiedId(namespace, id));
    const filter = { namespace, status, capabilityKeys, circuit, text, agentIds };
    const rows = await this.agents.list(limit + 1, after, filter);
    return AGENTS.toPage(
      rows,
      limit,
      (record) => record,
      ({ agentId }) => agentId,
    );
  }

  @Get(':id')
  @Permit('agents:read')
  @ApiOperation({
    operationId: 'agents.get',
    summary: 'Get an agent',
    description: 'An agent that has left is returned while its record is kept.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: AgentView, description: 'The agent.', headers: ETAG })
  @Problems('AGENT_NOT_FOUND')
  @SendsVersion(toVersioned)
  async get(@Param('id') id: string, @Caller() { namespace }: Principal): Promise<VersionedAgent> {
    return await this.agents.getVersioned(qualifiedId(namespace, id));
  }

  @Patch(':id')
  @Permit('agents:self')
  @Mutation({ audit: 'agent.updated', unlessBy: 'lease', record: RECORDED, prepares: true })
  @SendsVersion(toVersioned)
  @ApiOperation({
    operationId: 'agents.update',
    summary: 'Update an agent',
    description:
      'Requires the lease token of the agent, the key that registered it, or the permission of an operator. Absent fields ' +
      'are not changed. With `If-Match`, the update is rejected if the agent has changed since it was read. An update ' +
      'without an effect emits no event.',
  })
  @ApiParam(AGENT_ID)
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The `ETag` of the agent as it was read.',
    schema: { type: 'string' },
  })
  @ApiOkResponse({ type: AgentView, description: 'The updated agent.', headers: ETAG })
  @Problems('AGENT_CHANGED', 'TOO_MANY_LABELS', 'EGRESS_DENIED', ...AS_AGENT)
  async update(
    @Param('id') id: string,
    @Body() body: UpdateBody,
    @Caller() caller: Principal,
    @IfMatch(VERSION) ifVersion: string | undefined,
  ): Promise<Effect<VersionedAgent>> {
    const credential = agentCredential(id, body.generation, caller);
    if (body.endpoint) {
      await this.agents.check(credential); // resolve host names only for callers that may update the agent
      body.endpoint = await this.endpoints.check(body.endpoint);
    }
    return new Effect(async () => {
      this.storage.take(caller, body, 0);
      return await this.agents.update(credential, toUpdate(body), ifVersion);
    });
  }

  @Delete(':id')
  @HttpCode(204)
  @Permit('agents:self')
  @Mutation({ audit: 'agent.deregistered', unlessBy: 'lease' })
  @ApiOperation({
    operationId: 'agents.deregister',
    summary: 'Deregister an agent',
    description: 'Requires the lease token of the agent, the key that registered it, or the permission of an operator.',
  })
  @ApiParam(AGENT_ID)
  @ApiNoContentResponse({ description: 'The agent has left.' })
  @Problems(...AS_AGENT)
  async deregister(
    @Param('id') agentId: string,
    @Query() { generation, reason }: LeaveQuery,
    @Caller() caller: Principal,
  ): Promise<void> {
    await this.agents.deregister(agentCredential(agentId, generation, caller), reason);
  }
}
