import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { localhostAllowedHostnames, validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import type { FastifyRequest } from 'fastify';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { ApiError } from '../http/api.error.js';

/**
 * Rejects requests to another host name, and requests of web pages of other hosts. A page whose name is changed to the address of
 * this server (DNS rebinding) could otherwise call it from the browser of a user.
 */
@Injectable()
export class HostGuard implements CanActivate {
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
      throw rejected('Host', 'ROLLCALL_PUBLIC_URL, or allow the name with ROLLCALL_MCP_ALLOWED_HOSTS');
    if (!validateOriginHeader(origin, this.origins).ok)
      throw rejected('Origin', 'ROLLCALL_MCP_ALLOWED_ORIGINS if pages of this host may call MCP');
    return true;
  }
}

function bracketed(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

function rejected(header: string, advice: string): ApiError {
  return new ApiError('FORBIDDEN', `The ${header} of this request is not allowed. The operator sets ${advice}.`);
}
