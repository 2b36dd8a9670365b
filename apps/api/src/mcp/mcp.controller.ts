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
import { LazyModuleLoader } from '@nestjs/core';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Permit } from '../auth/route.access.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';
import { Limits, routeConfig } from '../http/server/routes.js';
import { mcpErrors } from './mcp.errors.js';
import type { McpExchange } from './mcp.exchange.js';
import { METADATA_PATH } from './metadata.controller.js';
import { SelfAudited } from '../mutation/mutation.js';

/**
 * Rejects requests whose `Host` or `Origin` is not allowed. Otherwise, an attacker could point the DNS record of a web page to this
 * server (DNS rebinding), and the page could call the server from the browser of a user.
 */
@Injectable()
class HostGuard implements CanActivate {
  private readonly hosts: string[];

  constructor(@Inject(CONFIG) { http, mcp }: Config) {
    const publicName = http.publicUrl === undefined ? [] : [new URL(http.publicUrl).hostname];
    this.hosts = [bracketed(http.host), ...publicName, ...mcp.allowedHosts];
  }

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const sdk = await import('@modelcontextprotocol/server');
    const { host, origin } = context.switchToHttp().getRequest<FastifyRequest>().headers;
    const hosts = [...sdk.localhostAllowedHostnames(), ...this.hosts];
    if (!sdk.validateHostHeader(host, hosts).ok)
      throw rejected('Host', 'Set ROLLCALL_PUBLIC_URL, or add the host name to ROLLCALL_MCP_ALLOWED_HOSTS.');
    if (!sdk.validateOriginHeader(origin, hosts).ok)
      throw rejected('Origin', 'If pages of this host may call MCP, add the host to ROLLCALL_MCP_ALLOWED_HOSTS.');
    return true;
  }
}

/**
 * MCP for Rollcall itself, and for each agent as one tool. Each tool declares its own permission. The SDK of MCP is large, so the
 * module that uses it is loaded at the first request.
 */
@ApiExcludeController()
@Controller(['mcp', 'mcp/agents/:agentId'])
@Permit('agents:read')
@Limits({ kind: 'waits' })
@routeConfig({ errorFormat: mcpErrors, resourceMetadata: METADATA_PATH })
@UseGuards(HostGuard)
export class McpController {
  private exchange?: Promise<McpExchange>;

  constructor(private readonly modules: LazyModuleLoader) {}

  @Post()
  @HttpCode(200)
  @SelfAudited('depends on the MCP tool')
  async call(@Param('agentId') agentId: string | undefined, @Res() reply: FastifyReply): Promise<void> {
    const exchange = await (this.exchange ??= this.load());
    await exchange.answer(reply, agentId);
  }

  /** If it fails, such as for lack of file descriptors, the next request tries it again. */
  private async load(): Promise<McpExchange> {
    try {
      const { McpExchange, McpServerModule } = await import('./mcp-server.module.js');
      const module = await this.modules.load(() => McpServerModule);
      return module.get<McpExchange>(McpExchange);
    } catch (error) {
      this.exchange = undefined;
      throw error;
    }
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function rejected(header: string, advice: string): ApiError {
  return new ApiError('FORBIDDEN', `The header ${header} of this request is not allowed. ${advice}`);
}
