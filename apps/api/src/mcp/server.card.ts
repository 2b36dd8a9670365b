import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { VERSION } from '../version.js';

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

/** Tells clients how to connect (SEP-2127). Tools are not listed, because they depend on the permissions of the client. */
export function serverCard(url: string): object {
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
        supportedProtocolVersions: [NEWEST, ...SUPPORTED_PROTOCOL_VERSIONS],
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
