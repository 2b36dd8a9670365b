import { Body, Controller, Delete, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiExtraModels,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { AgentLifecycle, type AgentShutdown, AgentShutdownFailedError } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { PagedList } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Effect } from '../mutation/effect.js';
import { Mutation } from '../mutation/mutation.js';
import {
  AGENT_NAME,
  HostedAgentsQuery,
  ShutdownBody,
  ShutdownQuery,
  SPAWN_EXAMPLES,
  SpawnBody,
} from './runtime.dto.js';
import { AgentShutdownView, HostedAgentPage, HostedAgentView, ShutdownReportView } from './runtime.view.js';
import { Caller, type Principal } from '../auth/principal.js';

const AGENTS = new PagedList('hosted-agents', /^[\w.:-]{1,128}$/);

@ApiTags('runtime')
@ApiExtraModels(AgentShutdownView)
@Controller('runtime')
export class RuntimeController {
  constructor(private readonly lifecycle: AgentLifecycle) {}

  @Post('agents')
  @Permit('agents:spawn')
  @Mutation({
    audit: 'agent.spawned',
    record: ['definition'],
    recordResult: { revision: 'revision', provider: 'provider' },
    prepares: true,
    checksKeyFirst: true,
  })
  @ApiOperation({
    operationId: 'runtime.spawn',
    summary: 'Spawn an agent',
    description:
      'Builds the agent on the replica that receives the request, and registers it under its name. The caller owns it. Send either ' +
      '`definition` or `content`.',
  })
  @ApiBody({ type: SpawnBody, examples: SPAWN_EXAMPLES })
  @ApiCreatedResponse({ type: HostedAgentView, description: 'The live agent.' })
  @Problems('SPAWN_INVALID', 'DEFINITION_INVALID', 'DEFINITION_NAME_INVALID', 'DEFINITION_NOT_FOUND')
  @Problems('AGENT_ALREADY_EXISTS', 'AGENT_NAME_RESERVED', 'AGENTS_STOPPING', 'NAMESPACE_FULL', 'QUOTA_EXCEEDED')
  async spawn(
    @Body() body: SpawnBody,
    @Caller() { namespace, owner: by }: Principal,
  ): Promise<Effect<HostedAgentView>> {
    const { commit, discard } = await this.lifecycle.prepareSpawn({ ...body, namespace, by });
    return new Effect(commit, discard);
  }

  @Get('agents')
  @Permit('agents:read')
  @ApiOperation({ operationId: 'runtime.listAgents', summary: 'List the agents that replicas host' })
  @ApiOkResponse({ type: HostedAgentPage, description: 'A page of agents.' })
  @Problems('CURSOR_INVALID')
  async list(
    @Query() { limit, cursor, ...filter }: HostedAgentsQuery,
    @Caller() { namespace }: Principal,
  ): Promise<HostedAgentPage> {
    const rows = await this.lifecycle.list(namespace, limit + 1, AGENTS.readCursor(cursor), filter);
    return AGENTS.toPage(
      rows,
      limit,
      (row) => row,
      ({ name }) => name,
    );
  }

  @Get('agents/:name')
  @Permit('agents:read')
  @ApiOperation({
    operationId: 'runtime.getAgent',
    summary: 'Get an agent that a replica hosts',
    description: 'HEAD returns only whether the agent is live.',
  })
  @ApiParam(AGENT_NAME)
  @ApiOkResponse({ type: HostedAgentView, description: 'The live agent.' })
  @Problems('AGENT_NOT_FOUND')
  async get(@Param('name') name: string, @Caller() { namespace }: Principal): Promise<HostedAgentView> {
    return await this.lifecycle.get({ namespace, name });
  }

  @Delete('agents/:name')
  @Permit('agents:spawn')
  @Mutation({
    audit: 'agent.shutdown',
    recordResult: { phase: 'phase', error: 'error' },
    failureOf: (result, { params }) => shutdownFailure(result as AgentShutdown, params),
    prepares: true,
    checksKeyFirst: true,
  })
  @ApiOperation({
    operationId: 'runtime.shutdownAgent',
    summary: 'Shut down an agent',
    description:
      'Aborts the calls of the agent and removes it, whichever replica hosts it. The agent is removed even if it fails to close; the ' +
      'response is then 502 `AGENT_SHUTDOWN_FAILED` with the same fields.',
  })
  @ApiParam(AGENT_NAME)
  @ApiOkResponse({ type: AgentShutdownView, description: 'How the shutdown ended.' })
  @Problems('AGENT_NOT_FOUND', 'AGENT_SHUTDOWN_FAILED')
  async shutdown(
    @Param('name') name: string,
    @Query() { timeoutMs }: ShutdownQuery,
    @Caller() { namespace }: Principal,
  ): Promise<Effect<AgentShutdownView>> {
    const ended = await this.lifecycle.stop({ namespace, name }, timeoutMs);
    return new Effect(async () => await Promise.resolve(ended));
  }

  @Post('shutdown')
  @HttpCode(200)
  @Permit('agents:spawn')
  @Mutation({
    audit: 'agents.shutdown',
    recordResult: { succeeded: 'succeeded', failed: 'failed' },
    prepares: true,
    checksKeyFirst: true,
  })
  @ApiOperation({
    operationId: 'runtime.shutdownAll',
    summary: 'Shut down all agents of the namespace',
    description:
      'Covers the agents of all replicas, and continues after a failure. Agents that are spawned meanwhile are included or rejected.',
  })
  @ApiOkResponse({ type: ShutdownReportView, description: 'How each shutdown ended.' })
  async shutdownAll(
    @Body() { timeoutMs }: ShutdownBody,
    @Caller() { namespace }: Principal,
  ): Promise<Effect<ShutdownReportView>> {
    const report = await this.lifecycle.shutdownAll(namespace, timeoutMs);
    return new Effect(async () => await Promise.resolve(report));
  }
}

/** The agent is gone in any case, but what failed to close may still hold resources (S1.5). */
function shutdownFailure(report: AgentShutdown, params: unknown): Error | undefined {
  return report.error === null ? undefined : new AgentShutdownFailedError((params as { name: string }).name, report);
}
