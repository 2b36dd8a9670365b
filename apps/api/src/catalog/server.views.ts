import type { PublicUrl } from '../a2a/cards/public.url.js';
import { VERSION } from '../version.js';
import { MCP_PATH, OWN_NAME } from './own.entries.js';
import type { CatalogState, PublicAgent } from './public.catalog.js';
import { AUTHORIZATION_HEADER } from '../mcp/metadata.controller.js';

const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json';
const REGISTRY_META = 'io.modelcontextprotocol.registry/official';
const LIVE_META = 'rollcall/live';
const MAX_TEXT = 100;
/** The version of an agent that declares no version or `latest`. In this API, `latest` means the newest version. */
const NO_VERSION = '0.0.0';

/** A `server.json` and what the registry adds to it. */
export interface ServerView {
  readonly server: { readonly name: string; readonly version: string; readonly [field: string]: unknown };
  readonly _meta: Readonly<Record<string, unknown>>;
}

/** The MCP endpoints: Rollcall, and each public agent as one tool. They are sorted by name. Each has one version. */
export function serversOf({ names, own, agents }: CatalogState, urls: PublicUrl): ServerView[] {
  if (own.length === 0) return [];
  const rollcall = toServer({
    name: names.serverName(OWN_NAME),
    title: 'Rollcall',
    description: 'Finds agents, runs them and answers their questions.',
    version: VERSION,
    url: urls.of(MCP_PATH),
  });
  const all = [rollcall, ...agents.map((one) => agentServer(one, names.agentServerName(one.agent.record), urls))];
  return all.toSorted((one, other) => (one.server.name < other.server.name ? -1 : 1));
}

function agentServer({ agent: { record }, entry }: PublicAgent, name: string, urls: PublicUrl): ServerView {
  const { version, agentId, registeredAt } = record;
  return toServer({
    name,
    title: entry.displayName,
    description: entry.description,
    version: version === null || version === 'latest' ? NO_VERSION : version,
    url: urls.of(`${MCP_PATH}/agents/${encodeURIComponent(agentId)}`),
    publishedAt: registeredAt,
    live: entry.live,
  });
}

interface ServerFacts {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  readonly url: string;
  readonly publishedAt?: string;
  readonly live?: object;
}

function toServer({ name, title, description, version, url, publishedAt, live }: ServerFacts): ServerView {
  const times = publishedAt && { publishedAt, updatedAt: publishedAt };
  return {
    server: {
      $schema: SCHEMA,
      name,
      title: shortened(title),
      description: shortened(description),
      version,
      remotes: [{ type: 'streamable-http', url, headers: [AUTHORIZATION_HEADER] }],
    },
    _meta: { [REGISTRY_META]: { status: 'active', ...times, isLatest: true }, ...(live && { [LIVE_META]: live }) },
  };
}

/** The schema limits texts to 100 characters. */
function shortened(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT - 1)}…`;
}
