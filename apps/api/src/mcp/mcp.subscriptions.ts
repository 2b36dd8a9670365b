import { CLIENT_CAPABILITIES_META_KEY } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { EventFeed, EventLog } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { TASKS } from './client.capabilities.js';
import { FeedBus } from './feed.bus.js';
import type { McpCall } from './mcp.call.js';
import { needsTasks } from './mcp.tasks.js';
import { TaskSubscriptions } from './task.subscriptions.js';

const MAX_TASKS = 100;
/** Contains only the fields that Rollcall reads. The SDK checks all other fields. */
const ListenSchema = z.looseObject({
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({
    _meta: z.looseObject({
      [CLIENT_CAPABILITIES_META_KEY]: z.looseObject({ extensions: z.record(z.string(), z.unknown()).optional() }),
    }),
    notifications: z.looseObject({
      resourceSubscriptions: z.array(z.string()).optional(),
      taskIds: z.array(z.string()).optional(),
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

  get isFull(): boolean {
    return this.count >= this.config.mcp.subscriptions;
  }

  /** Returns undefined if the request is not a subscription. */
  async prepare(call: McpCall): Promise<Subscription | undefined> {
    const { data: body } = ListenSchema.safeParse(call.request.body);
    if (!body) return undefined;
    const { taskIds, ...wanted } = body.params.notifications;
    if (taskIds && !body.params._meta[CLIENT_CAPABILITIES_META_KEY].extensions?.[TASKS]) throw needsTasks();
    const notifications = taskIds
      ? await this.tasks.toSdk(call, { ...wanted, taskIds: taskIds.slice(0, MAX_TASKS) })
      : wanted;
    const uris = new Set(notifications.resourceSubscriptions);
    const after = this.feed.position ?? (await this.log.head());
    return {
      bus: new FeedBus(this.feed, after, { call, uris }),
      body: { ...body, params: { ...body.params, notifications } },
      convert: async (message) => await this.tasks.fromSdk(call, message),
    };
  }

  /** Counts an open stream until the returned function is called. */
  hold(): () => void {
    this.count += 1;
    return () => {
      this.count -= 1;
    };
  }
}
