import type { ServerEvent } from '@modelcontextprotocol/server';
import type { RegistryEvent } from '#rollcall/platform';
import { EVENTS } from '../events/event.catalog.js';
import type { McpCall } from './mcp.call.js';
import { taskUri } from './tasks/task.subscriptions.js';
import { AGENTS, agentUri, EVENTS_PREFIX, runUri } from './resource.uris.js';

/** The changes that a subscription selects. */
export interface Interest {
  readonly call: McpCall;
  /** The addresses of the resources that the client named. */
  readonly uris: ReadonlySet<string>;
}

/** Converts events to the notifications that the client wants. Equal notifications are sent once. */
export function noticesOf(events: readonly RegistryEvent[], interest: Interest): ServerEvent[] {
  const { caller, agent } = interest.call;
  const visible = events.filter(({ namespace }) => namespace === caller.namespace);
  const notices = new Map<string, ServerEvent>();
  const add = (notice: ServerEvent): void => void notices.set(JSON.stringify(notice), notice);
  for (const event of visible) {
    if (agent && changesTool(event, agent.agentId)) add({ kind: 'tools_list_changed' });
    if (event.type === 'agent.joined' || event.type === 'agent.left') add({ kind: 'resources_list_changed' });
    for (const uri of changedUris(event, interest)) add({ kind: 'resource_updated', uri });
  }
  return [...notices.values()];
}

/** The tool of an agent changes with its description, which the agent or its definition declares. */
function changesTool({ type, subject }: RegistryEvent, agentId: string): boolean {
  return subject === agentId && (type === 'agent.updated' || type === 'agent.joined' || type.startsWith('definition.'));
}

function changedUris(event: RegistryEvent, { call, uris }: Interest): string[] {
  const { permissions } = call.caller;
  const kind = EVENTS.subjects[event.type];
  const changed = kind === 'run' ? [taskUri(event.subject)] : [];
  if (kind === 'run' && permissions.includes('runs:read')) changed.push(runUri(event.subject));
  if (kind === 'agent') changed.push(AGENTS, agentUri(event.subject));
  if (kind === 'definition') changed.push(agentUri(event.subject));
  const logs = permissions.includes('events:read') ? [...uris].filter((uri) => uri.startsWith(EVENTS_PREFIX)) : [];
  return [...changed.filter((uri) => uris.has(uri)), ...logs];
}
