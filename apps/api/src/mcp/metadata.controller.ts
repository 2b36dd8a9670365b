import { Controller, Get, Inject, Injectable, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, onSendHookHandler } from 'fastify';
import { PublicUrl } from '../http/public.url.js';
import { Public } from '../auth/route.access.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { PreparedDocuments } from '../http/prepared.documents.js';
import { VERSION } from '../version.js';

/** The path of the document that tells clients where to get a token (RFC 9728). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

export const SERVER_CARD_TYPE = 'application/mcp-server-card+json';
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json';
const NEWEST = '2026-07-28';
/** The header that every request needs, as cards and registries of MCP describe it. */
export const AUTHORIZATION_HEADER = {
  name: 'Authorization',
  description: 'Bearer, followed by an API key of Rollcall or a JWT.',
  isRequired: true,
  isSecret: true,
};

const CACHE = { 'cache-control': 'public, max-age=300' };

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The path of the metadata document that a 401 response of this route names. */
    resourceMetadata?: string;
  }
}

/** Describes MCP as an OAuth protected resource. */
@Injectable()
export class ProtectedResource {
  constructor(
    private readonly urls: PublicUrl,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Without `authorization_servers`, clients need an API key. */
  metadata(): object {
    const { oidcIssuer } = this.config.auth;
    return {
      resource: this.urls.of('/mcp'),
      resource_name: 'Rollcall',
      bearer_methods_supported: ['header'],
      ...(oidcIssuer !== undefined && { authorization_servers: [oidcIssuer] }),
    };
  }

  /** Adds `WWW-Authenticate` to the 401 responses of all routes that are registered after this call. */
  addTo(server: FastifyInstance): void {
    server.addHook('onRoute', (route) => {
      const path = route.config?.resourceMetadata;
      if (path === undefined) return;
      const challenge: onSendHookHandler = (_request, reply, payload, done) => {
        if (reply.statusCode === 401)
          void reply.header('www-authenticate', `Bearer resource_metadata="${this.urls.of(path)}"`);
        done(null, payload);
      };
      route.onSend = [route.onSend ?? [], challenge].flat();
    });
  }
}

/** The documents that clients read before they connect. */
@ApiExcludeController()
@Controller()
export class MetadataController {
  constructor(
    private readonly resource: ProtectedResource,
    private readonly urls: PublicUrl,
    private readonly documents: PreparedDocuments,
  ) {}

  @Get(METADATA_PATH)
  @Public()
  async protectedResource(@Res() reply: FastifyReply): Promise<void> {
    const request = { kind: 'oauth-metadata', source: this, key: 'metadata', headers: CACHE };
    await this.documents.send(reply, request, () => ({ body: this.resource.metadata() }));
  }

  @Get('mcp/server-card')
  @Public()
  async card(@Res() reply: FastifyReply): Promise<void> {
    const request = { kind: 'mcp-server-card', source: this, key: 'card', headers: CACHE };
    await this.documents.send(reply, request, async () => {
      const { SUPPORTED_PROTOCOL_VERSIONS } = await import('@modelcontextprotocol/server');
      const body = serverCard(this.urls.of('/mcp'), [NEWEST, ...SUPPORTED_PROTOCOL_VERSIONS]);
      return { body, type: SERVER_CARD_TYPE };
    });
  }
}

/** Tells clients how to connect (SEP-2127). Tools are not listed, because they depend on the permissions of the client. */
function serverCard(url: string, supportedProtocolVersions: string[]): object {
  return {
    $schema: SCHEMA,
    name: `${reversedName(new URL(url).hostname)}/rollcall`,
    title: 'Rollcall',
    description: 'Registry and runtime for agents: find agents, run them, and read the results.',
    version: VERSION,
    remotes: [
      {
        type: 'streamable-http',
        url,
        supportedProtocolVersions,
        headers: [AUTHORIZATION_HEADER],
      },
    ],
  };
}

/** `com.example.rollcall` for `rollcall.example.com`. An IPv4 address is not reversed; an IPv6 address becomes `localhost`. */
function reversedName(host: string): string {
  if (/^[\d.]+$/.test(host)) return host;
  return host.startsWith('[') ? 'localhost' : host.split('.').toReversed().join('.');
}
