import type { PublicUrl } from '../a2a/cards/public.url.js';
import { VERSION } from '../version.js';
import { A2A_CARD, type EntryFacts, REGISTRY } from './catalog.entry.js';
import type { CatalogNames } from './catalog.names.js';
import { SERVER_CARD_TYPE } from '../mcp/metadata.controller.js';

/** The base URL of the registry of ARD. */
export const ARD_BASE = '/ard';
export const MCP_PATH = '/mcp';
export const OWN_NAME = 'rollcall';
const ABOUT = 'Registry and runtime for agents.';

/** The entries of Rollcall itself: its registry of ARD, its A2A card and its MCP server. */
export function ownFacts(names: CatalogNames, urls: PublicUrl): EntryFacts[] {
  const common = { version: VERSION, capabilities: [], live: {} };
  return [
    {
      ...common,
      identifier: names.identifierOf('registry', OWN_NAME),
      displayName: 'Rollcall registry',
      type: REGISTRY,
      url: urls.of(ARD_BASE),
      description: `${ABOUT} This is its registry of ARD: search, list and read the public agents.`,
      tags: ['registry', 'discovery'],
      representativeQueries: ['Which agents are available here?', 'Find an agent for a task.'],
    },
    {
      ...common,
      identifier: names.identifierOf('a2a', OWN_NAME),
      displayName: 'Rollcall',
      type: A2A_CARD,
      url: urls.of('/.well-known/agent-card.json'),
      description: `${ABOUT} It sends an A2A message to the best agent with the required capabilities.`,
      tags: ['routing', 'agents'],
      representativeQueries: ['Send this task to the best agent.', 'Route a message by capability.'],
    },
    {
      ...common,
      identifier: names.identifierOf('mcp', OWN_NAME),
      displayName: 'Rollcall MCP server',
      type: SERVER_CARD_TYPE,
      url: urls.of(`${MCP_PATH}/server-card`),
      description: `${ABOUT} Its MCP tools find agents, run them and answer their questions.`,
      tags: ['mcp', 'agents'],
      representativeQueries: ['Run an agent from an MCP client.', 'Which MCP server gives me agents as tools?'],
    },
  ];
}
