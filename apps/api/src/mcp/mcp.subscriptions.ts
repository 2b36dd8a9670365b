import { CLIENT_CAPABILITIES_META_KEY, type ServerEvent, type ServerEventBus } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { EventFeed, EventLog, type RegistryEvent } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { EVENTS } from '../events/event.catalog.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import type { SseWriter } from '../streams/sse.writer.js';
import { databaseUnavailable } from '../streams/stream.end.js';
import { type McpCall, TASKS, toProtocolError } from './mcp.call.js';
import { AGENTS, agentUri, EVENTS_PREFIX, runUri } from './mcp.resources.js';
import { needsTasks } from './tasks/mcp.tasks.js';
import { TaskSubscriptions, taskUri } from './tasks/task.subscriptions.js';

const MAX_TASKS = 100;
const TaskIdsSchema = z.array(z.string()).max(MAX_TASKS).optional();
/** Contains only the fields that Rollcall reads. The SDK checks all other fields. */
const ListenSchema = z.looseObject({
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({
    _meta: z.looseObject({
      [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({ extensions: z.record(z.string(), z.unknown()).optional() }),
    }),
    notifications: z.looseObject({
      resourceSubscriptions: z.array(z.string()).optional(),
      taskIds: z.unknown().optional(),
    }),
  }),
});

/** The changes that a subscription selects. */
interface Interest {
  readonly call: McpCall;
  /** The addresses of the resources that the client named. */
  readonly uris: ReadonlySet<string>;
}

type Listener = (event: ServerEvent) => void;

/**
 * Sends the changes of the event feed to one subscription. All replicas read the same log, so any replica can hold the stream. While
 * the client does not read, no events are read for it.
 */
class FeedBus implements ServerEventBus {
  private writer?: SseWriter;

  constructor(
    private readonly feed: EventFeed,
    private readonly after: number,
    private readonly interest: Interest,
  ) {}

  attach(writer: SseWriter): void {
    this.writer = writer;
  }

  /** Does nothing, because all events come from the feed. */
  publish(): void {}

  subscribe(listener: Listener): () => void {
    const accept = (events: readonly RegistryEvent[]): boolean => {
      for (const notice of noticesOf(events, this.interest)) listener(notice);
      if (!this.writer?.isFull) return true;
      this.writer.onceSpace(() => subscription.resume());
      return false;
    };
    const end = (): void => this.writer?.end(databaseUnavailable()); // clients of MCP do not get the reason
    const filter = { namespaces: [this.interest.call.caller.namespace] };
    const subscription = this.feed.subscribe(this.after, { accept, expired: end, interrupted: end }, filter);
    return () => subscription.close();
  }
}

/** A subscription before it is acknowledged. */
export interface Subscription {
  readonly bus: FeedBus;
  /** The request for the SDK. */
  readonly body: unknown;
  /** Converts a message of the SDK. */
  convert(message: string): Promise<string>;
}

/** Opens the subscriptions to changes. Their number is limited. */
@Injectable()
export class McpSubscriptions {
  private count = 0;

  constructor(
    private readonly feed: EventFeed,
    private readonly log: EventLog,
    private readonly tasks: TaskSubscriptions,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Returns undefined if the request is not a subscription. */
  async prepare(call: McpCall): Promise<Subscription | undefined> {
    const { data: body } = ListenSchema.safeParse(call.request.body);
    if (!body) return undefined;
    const { taskIds: requested, ...named } = body.params.notifications;
    const wanted = { ...named, ...(await this.tasks.visible(call, named)) };
    const taskIds = checkedTaskIds(call, requested);
    if (taskIds && !body.params._meta[CLIENT_CAPABILITIES_META_KEY].extensions?.[TASKS]) throw needsTasks();
    const notifications = taskIds ? await this.tasks.toSdk(call, { ...wanted, taskIds }) : wanted;
    const uris = new Set(notifications.resourceSubscriptions);
    const after = this.feed.position ?? (await this.log.head());
    return {
      bus: new FeedBus(this.feed, after, { call, uris }),
      body: { ...body, params: { ...body.params, notifications } },
      convert: async (message) => await this.tasks.fromSdk(call, message),
    };
  }

  /** Counts a subscription until the returned function is called. Returns undefined if there are too many. */
  reserve(): (() => void) | undefined {
    if (this.count >= this.config.mcp.subscriptions) return undefined;
    this.count += 1;
    return () => {
      this.count -= 1;
    };
  }
}

/** The SDK ignores `taskIds`, so it does not check them. */
function checkedTaskIds({ request }: McpCall, taskIds: unknown): string[] | undefined {
  const { success, data } = TaskIdsSchema.safeParse(taskIds);
  if (success) return data;
  const message = `taskIds must be a list of at most ${MAX_TASKS} ids of tasks`;
  throw toProtocolError(validationFailed([{ field: 'taskIds', message }]), request.id);
}

/** Converts events to the notifications that the client wants. Equal notifications are sent once. */
function noticesOf(events: readonly RegistryEvent[], interest: Interest): ServerEvent[] {
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
