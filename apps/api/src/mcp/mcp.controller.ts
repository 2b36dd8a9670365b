import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  HttpCode,
  Inject,
  Injectable,
  Param,
  Post,
  Res,
  UseGuards,
} from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { callerOf } from '../auth/caller.js';
import { Permit } from '../auth/route.access.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { InFlight } from '../http/server/in-flight.js';
import { Limits, routeConfig } from '../http/server/routes.js';
import { SelfAudited } from '../mutation/self-audited.js';
import { McpAgents } from './mcp.agents.js';
import { callOf } from './mcp.call.js';
import { mcpErrors } from './mcp.errors.js';
import { McpExchange } from './mcp.exchange.js';
import { METADATA_PATH } from './metadata.controller.js';
import { McpTools } from './tools/mcp.tools.js';

/**
 * Rejects requests whose `Host` or `Origin` is not allowed. Otherwise, an attacker could point the DNS record of a web page to this
 * server (DNS rebinding), and the page could call the server from the browser of a user.
 */
@Injectable()
class HostGuard implements CanActivate {
  private readonly hosts: string[];
  private readonly origins: string[];

  constructor(@Inject(CONFIG) { http, mcp }: Config) {
    const publicName = http.publicUrl === undefined ? [] : [new URL(http.publicUrl).hostname];
    this.hosts = [...localhostAllowedHostnames(), bracketed(http.host), ...publicName, ...mcp.allowedHosts];
    this.origins = [...this.hosts, ...mcp.allowedOrigins];
  }

  canActivate(context: ExecutionContext): boolean {
    const { host, origin } = context.switchToHttp().getRequest<FastifyRequest>().headers;
    if (!validateHostHeader(host, this.hosts).ok)
      throw rejected('Host', 'Set ROLLCALL_PUBLIC_URL, or add the host name to ROLLCALL_MCP_ALLOWED_HOSTS.');
    if (!validateOriginHeader(origin, this.origins).ok)
      throw rejected('Origin', 'If pages of this host may call MCP, add the host to ROLLCALL_MCP_ALLOWED_ORIGINS.');
    return true;
  }
}

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

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function rejected(header: string, advice: string): ApiError {
  return new ApiError('FORBIDDEN', `The header ${header} of this request is not allowed. ${advice}`);
}
