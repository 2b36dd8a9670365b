import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { EventFeed, EventLog } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { TASKS } from './client.capabilities.js';
import { FeedBus } from './feed.bus.js';
import type { McpCall } from './mcp.call.js';
import { needsTasks } from './mcp.tasks.js';
import { toProtocolError } from './protocol.errors.js';
import { TaskSubscriptions } from './task.subscriptions.js';

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
    const { taskIds: requested, ...wanted } = body.params.notifications;
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
