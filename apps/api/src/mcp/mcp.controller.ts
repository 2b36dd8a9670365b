import { Controller, HttpCode, Param, Post, Res, UseGuards } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { Permit } from '../auth/route.access.js';
import { InFlight } from '../http/server/in-flight.js';
import { SelfAudited } from '../mutation/self-audited.js';
import { mcpErrors } from './error.format.js';
import { HostGuard } from './host.guard.js';
import { McpAgents } from './mcp.agents.js';
import { callOf } from './mcp.call.js';
import { McpExchange } from './mcp.exchange.js';
import { McpTools } from './mcp.tools.js';
import { METADATA_PATH } from './protected.resource.js';
import { Limits, routeConfig } from '../http/server/routes.js';

/** MCP for Rollcall itself, and for each agent as one tool. Each tool declares its own permission. */
@ApiExcludeController()
@Controller(['mcp', 'mcp/agents/:agentId'])
@Permit('agents:read')
@Limits({ kind: 'waits' })
@routeConfig({ errorFormat: mcpErrors, resourceMetadata: METADATA_PATH })
@UseGuards(HostGuard)
export class McpController {
  constructor(
    private readonly agents: McpAgents,
    private readonly tools: McpTools,
    private readonly exchange: McpExchange,
    private readonly inFlight: InFlight,
  ) {}

  @Post()
  @HttpCode(200)
  @SelfAudited('depends on the MCP tool')
  async call(@Param('agentId') agentId: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    const { request } = reply;
    const agent = agentId === undefined ? undefined : await this.agents.get(callerOf(request).namespace, agentId);
    const call = callOf(reply, agent);
    const name = calledTool(request.body);
    if (name !== undefined) {
      this.tools.check(call, name);
      this.inFlight.exempt(reply); // a tool call waits for its run, and has its own time limit
    }
    await this.exchange.answer(reply, call);
  }
}

function calledTool(body: unknown): unknown {
  const { method, params } = (body ?? {}) as { method?: unknown; params?: { name?: unknown } };
  return method === 'tools/call' ? params?.name : undefined;
}
