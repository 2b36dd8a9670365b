import { CatalogNames } from '../../apps/api/src/catalog/catalog.names.js';
import { cardAt, type CatalogHost } from './catalog-host.js';
import { A2A_CARD } from './catalogs.js';

export const PUBLISHER = 'fleet.example.com';
const NAMES = new CatalogNames(PUBLISHER);

/** An agent that a catalog lists or does not list. Its id and its capability are words that occur nowhere else. */
export interface Listed {
  readonly agentId: string;
  readonly namespace: string;
  readonly isPublic: boolean;
}

/** The agents that an anonymous response describes: the agent that the path names, all public agents, or no agent. */
export type About = 'one agent' | 'all agents' | 'no agent';

/** A route that requires no permission. Every credential, even an invalid one, gets the same response. */
export interface PublicRow {
  readonly about: About;
  /** The values of the path parameters. */
  readonly path?: (agent: Listed) => Record<string, string>;
  readonly query?: string;
  readonly body?: (agent: Listed) => object;
  /** The status of the response, if it is not 200. */
  readonly status?: number;
}

const entry = { about: 'one agent', path: (agent) => ({ ':identifier': NAMES.agentIdentifier(agent) }) } as PublicRow;
const server = {
  about: 'one agent',
  path: (agent) => ({ ':name': NAMES.agentServerName(agent), ':version': 'latest' }),
} as PublicRow;

/** Every route that requires no permission. A route without a row fails the test. */
export const PUBLIC_ROUTES: Record<string, PublicRow> = {
  'GET /.well-known/agent-card.json': { about: 'no agent' },
  'GET /.well-known/ai-catalog.json': { about: 'all agents' },
  'GET /.well-known/ard.json': { about: 'all agents' },
  'GET /.well-known/jwks.json': { about: 'no agent' },
  'GET /.well-known/oauth-protected-resource/mcp': { about: 'no agent' },
  'GET /ard': { about: 'no agent' },
  'GET /ard/agents': { about: 'all agents', query: '?pageSize=100' },
  'GET /ard/agents/:identifier': entry,
  'GET /ard/agents/:identifier/agent-card.json': entry,
  'GET /health/live': { about: 'no agent' },
  'GET /health/ready': { about: 'no agent' },
  'GET /mcp/server-card': { about: 'no agent' },
  'GET /v0.1/servers': { about: 'all agents', query: '?limit=100' },
  'GET /v0.1/servers/:name/versions': server,
  'GET /v0.1/servers/:name/versions/:version': server,
  'POST /ard/explore': {
    about: 'all agents',
    body: () => ({ resultType: { facets: [{ field: 'capabilities' }] } }),
  },
  'POST /ard/search': { about: 'all agents', body: ({ agentId }) => ({ query: { text: agentId } }) },
  'POST /v1/sessions/tickets/exchange': { about: 'no agent', body: () => ({ ticket: 'x'.repeat(43) }), status: 401 },
};

/** The path and the body of a request about an agent. */
export function requestOf(route: string, row: PublicRow, agent: Listed): { path: string; init: RequestInit } {
  const [method = '', pattern = ''] = route.split(' ');
  const values = Object.entries(row.path?.(agent) ?? {});
  const path = values.reduce((text, [name, value]) => text.replace(name, encodeURIComponent(value)), pattern);
  const body = row.body && { body: JSON.stringify(row.body(agent)), headers: { 'content-type': 'application/json' } };
  return { path: path + (row.query ?? ''), init: { method, ...body } };
}

/** A field of a request from which an agent or a toolbox is imported. */
export interface ImportRow {
  readonly route: string;
  /** The field that contains the document, or its URL. */
  readonly field: string;
  /** The roles with the permission; every other role gets FORBIDDEN. */
  readonly roles: string;
  /** The route concerns the whole installation: it rejects every credential for one namespace. */
  readonly installation?: true;
  /** The id of the agent is part of the document, or of the body. */
  readonly body: (agentId: string, host: CatalogHost) => object;
}

const REGISTERS = 'admin operator agent';
const OPERATORS = 'admin operator';
const ENDPOINT = 'https://1.1.1.1/a2a';
const remotes = [{ type: 'streamable-http', url: 'https://1.1.1.1/mcp' }];
const SERVER = { name: 'com.example/x', description: 'x', version: '1', remotes };
const catalog = (identifier: string): object => ({
  entries: [{ identifier, displayName: 'Imported', type: A2A_CARD, data: cardAt(ENDPOINT) }],
});
const registers = { roles: REGISTERS, route: 'POST /v1/agents' } as const;
const imports = { roles: REGISTERS, route: 'POST /v1/agent-imports' } as const;
const proposes = { roles: OPERATORS, route: 'POST /v1/toolbox-imports', installation: true } as const;

/** Every source of an import. The test fails if a field for a document or for its URL has no row. */
export const IMPORTS: readonly ImportRow[] = [
  {
    ...registers,
    field: 'agentCard',
    body: (agentId) => ({ agentId, takeover: true, agentCard: cardAt(ENDPOINT) }),
  },
  {
    ...registers,
    field: 'cardUrl',
    body: (agentId, host) => ({ agentId, takeover: true, cardUrl: host.serve('/card.json', cardAt(ENDPOINT)) }),
  },
  { ...imports, field: 'catalog', body: (agentId) => ({ takeover: true, catalog: catalog(agentId) }) },
  {
    ...imports,
    field: 'catalogUrl',
    body: (agentId, host) => ({ takeover: true, catalogUrl: host.serve(`/${agentId}`, catalog(agentId)) }),
  },
  { ...proposes, field: 'server', body: () => ({ server: SERVER }) },
  { ...proposes, field: 'serverUrl', body: (_id, host) => ({ serverUrl: host.serve('/server.json', SERVER) }) },
];

/** The names of the fields that contain a document of another publisher, or its URL. */
export const IMPORT_FIELD = /(Url|Card|^card|^catalog|^server)$/;
