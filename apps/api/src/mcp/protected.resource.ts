import { Inject, Injectable } from '@nestjs/common';
import type { FastifyInstance, onSendHookHandler } from 'fastify';
import { PublicUrl } from '../a2a/cards/public.url.js';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';

/** The path of the document that tells clients where to get a token (RFC 9728). */
export const METADATA_PATH = '/.well-known/oauth-protected-resource/mcp';

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
