import {
  type McpServer,
  type ReadResourceResult,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { RunReader } from '#rollcall/agent-runtime';
import { formatCursor, toCloudEvent } from '#rollcall/platform';
import { AgentsService } from '#rollcall/registry';
import type { Permission } from '../auth/permissions.js';
import { visibleTo } from '../auth/principal.js';
import { EventsQuery } from '../events/events.dto.js';
import { EventsService } from '../events/events.service.js';
import { JSON_MEDIA_TYPE } from '../http/body/json-body.parser.js';
import { fitting } from '../http/page.js';
import { toProblem } from '../http/problems/problem.js';
import { validated } from '../http/validation/validation.pipe.js';
import { runKeyOf } from '../runs/run.commands.js';
import { toRunView } from '../runs/run.view.js';
import { McpAgents } from './mcp.agents.js';
import { type McpCall, toProtocolError } from './mcp.call.js';

/** The addresses of the resources. Ids are encoded as in a URL. */
export const AGENTS = 'rollcall://agents';
export const AGENT = `${AGENTS}/{agentId}`;
export const RUN = 'rollcall://runs/{runId}';
export const EVENTS_SINCE = 'rollcall://events/{after}';
/** Every address of events begins with this. */
export const EVENTS_PREFIX = 'rollcall://events/';

const MAX_LISTED = 100;
const NOT_FOUND = 404;

export function agentUri(agentId: string): string {
  return `${AGENTS}/${encodeURIComponent(agentId)}`;
}

const RUNS = 'rollcall://runs/';

export function runUri(runId: string): string {
  return RUNS + encodeURIComponent(runId);
}

/** The id in the address of a run, as the address contains it; undefined for other addresses. The ids of runs need no encoding. */
export function runIdIn(uri: string): string | undefined {
  return uri.startsWith(RUNS) ? uri.slice(RUNS.length) : undefined;
}

interface Template {
  readonly name: string;
  readonly uri: string;
  readonly description: string;
  readonly permission: Permission;
  /** `id` is the value of the variable in the address. */
  read(call: McpCall, id: string): Promise<object>;
  list?(call: McpCall): Promise<{ uri: string; name: string; title: string }[]>;
}

/** Offers agents, runs and events as resources. A caller sees the resources that its permissions allow. */
@Injectable()
export class McpResources {
  private readonly templates: readonly Template[] = [
    {
      name: 'agent',
      uri: AGENT,
      description: 'One agent with its capabilities, price, health, load and budget.',
      permission: 'agents:read',
      read: async ({ caller }, id) => (await this.mcpAgents.get(caller.namespace, id)).facts,
      list: async (call) => await this.listed(call),
    },
    {
      name: 'run',
      uri: RUN,
      description: 'A run with its input, its state and its answer.',
      permission: 'runs:read',
      read: async (call, id) => toRunView(await this.runs.get(runKeyOf(call.caller, id))),
    },
    {
      name: 'events',
      uri: EVENTS_SINCE,
      description:
        'The events after a cursor or a sequence number, and the cursor of the next page. `oldest` selects the first events.',
      permission: 'events:read',
      read: async (call, after) => await this.eventsAfter(call, after),
    },
  ];

  constructor(
    private readonly agents: AgentsService,
    private readonly mcpAgents: McpAgents,
    private readonly runs: RunReader,
    private readonly events: EventsService,
  ) {}

  addTo(mcp: McpServer, call: McpCall): void {
    const { permissions } = call.caller;
    if (permissions.includes('agents:read')) {
      const about = {
        title: 'Agents',
        description: `The first ${MAX_LISTED} agents, or fewer if they are large.`,
        mimeType: JSON_MEDIA_TYPE,
      };
      mcp.registerResource('agents', AGENTS, about, async () => await read(call, AGENTS, this.page(call)));
    }
    for (const template of this.templates.filter(({ permission }) => permissions.includes(permission)))
      addTemplate(mcp, call, template);
  }

  private async page({ caller: { namespace } }: McpCall): Promise<object> {
    const found = await this.agents.list(MAX_LISTED + 1, undefined, { namespace });
    const items = fitting(found.slice(0, MAX_LISTED), (record) => record);
    return { items, hasMore: items.length < found.length };
  }

  private async listed({ caller: { namespace } }: McpCall): Promise<{ uri: string; name: string; title: string }[]> {
    const records = await this.agents.list(MAX_LISTED, undefined, { namespace });
    return records.map(({ agentId, name }) => ({ uri: agentUri(agentId), name: agentId, title: name }));
  }

  private async eventsAfter({ caller, signal }: McpCall, after: string): Promise<object> {
    const query = validated(plainToInstance(EventsQuery, { after }));
    const { items, next, epoch } = await this.events.page(query, visibleTo(caller), signal);
    return { items: items.map(toCloudEvent), cursor: formatCursor({ seq: next, epoch }) };
  }
}

function addTemplate(mcp: McpServer, call: McpCall, { name, uri, description, ...template }: Template): void {
  const { list } = template;
  const listed = list && (async () => ({ resources: await list(call) }));
  mcp.registerResource(
    name,
    new ResourceTemplate(uri, { list: listed }),
    { description, mimeType: JSON_MEDIA_TYPE },
    async ({ href }, variables) => {
      const [id = ''] = Object.values(variables).flat();
      return await read(call, href, template.read(call, decoded(id, href)));
    },
  );
}

/** Converts errors. The protocol has its own error for an object that does not exist. */
async function read({ request }: McpCall, uri: string, value: Promise<object>): Promise<ReadResourceResult> {
  try {
    return { contents: [{ uri, mimeType: JSON_MEDIA_TYPE, text: JSON.stringify(await value) }] };
  } catch (error) {
    if (toProblem(error, request.id).status === NOT_FOUND) throw new ResourceNotFoundError(uri);
    throw toProtocolError(error, request.id);
  }
}

function decoded(text: string, uri: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ResourceNotFoundError(uri);
  }
}
