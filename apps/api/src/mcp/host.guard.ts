import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/problems/api.error.js';

/**
 * Rejects requests whose `Host` or `Origin` is not allowed. Otherwise, an attacker could point the DNS record of a web page to this
 * server (DNS rebinding), and the page could call the server from the browser of a user.
 */
@Injectable()
export class HostGuard implements CanActivate {
  private readonly hosts: string[];

  constructor(@Inject(CONFIG) { http, mcp }: Config) {
    const publicName = http.publicUrl === undefined ? [] : [new URL(http.publicUrl).hostname];
    this.hosts = [...localhostAllowedHostnames(), bracketed(http.host), ...publicName, ...mcp.allowedHosts];
  }

  canActivate(context: ExecutionContext): boolean {
    const { host, origin } = context.switchToHttp().getRequest<FastifyRequest>().headers;
    if (!validateHostHeader(host, this.hosts).ok)
      throw rejected('Host', 'Set ROLLCALL_PUBLIC_URL, or add the host name to ROLLCALL_MCP_ALLOWED_HOSTS.');
    if (!validateOriginHeader(origin, this.hosts).ok)
      throw rejected('Origin', 'If pages of this host may call MCP, add the host to ROLLCALL_MCP_ALLOWED_HOSTS.');
    return true;
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function rejected(header: string, advice: string): ApiError {
  return new ApiError('FORBIDDEN', `The header ${header} of this request is not allowed. ${advice}`);
}
