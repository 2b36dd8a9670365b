import { Injectable } from '@nestjs/common';
import { RunNotFoundError, RunReader } from '#rollcall/agent-runtime';
import { visibleRuns } from '../../runs/run.commands.js';
import type { McpCall } from '../mcp.call.js';
import { followUpsOf } from '../tools/run.result.js';
import { runIdIn } from '../mcp.resources.js';
import { McpTasks } from './mcp.tasks.js';
import { toDetailedTask } from './task.view.js';

/** The SDK does not support subscriptions to tasks, so for the SDK a task is a resource whose address has this prefix. */
const PREFIX = 'task:';
const DATA = 'data: ';
const METHOD = 'notifications/tasks';

interface Notification {
  method?: string;
  params?: Record<string, unknown> & { uri?: unknown; notifications?: Filter };
}
interface Filter {
  resourceSubscriptions?: string[];
  taskIds?: string[];
}

export function taskUri(taskId: string): string {
  return PREFIX + taskId;
}

/** Converts subscriptions to tasks into subscriptions to resources for the SDK, and converts the messages of the SDK back. */
@Injectable()
export class TaskSubscriptions {
  constructor(
    private readonly tasks: McpTasks,
    private readonly runs: RunReader,
  ) {}

  /**
   * Without the addresses that the SDK uses for tasks: a client names tasks by their ids, so that it sees only its own (S-17). Also
   * without the runs that the caller does not see.
   */
  async visible(call: McpCall, { resourceSubscriptions }: Filter): Promise<Filter> {
    if (!resourceSubscriptions) return {};
    const wanted = resourceSubscriptions.filter((uri) => !uri.startsWith(PREFIX));
    const runs = wanted.flatMap((uri) => runIdIn(uri) ?? []);
    const found = await this.runs.visibleAmong(visibleRuns(call.caller), runs);
    const isVisible = (uri: string): boolean => {
      const id = runIdIn(uri);
      return id === undefined || found.has(id);
    };
    return { resourceSubscriptions: wanted.filter(isVisible) };
  }

  /** Returns the filter for the SDK, without the tasks that the caller may not see. */
  async toSdk(call: McpCall, { taskIds = [], ...filter }: Filter): Promise<Filter> {
    const found = await Promise.all(taskIds.map(async (id) => await this.isVisible(call, id)));
    const uris = taskIds.filter((_id, index) => found[index]).map(taskUri);
    const { resourceSubscriptions = [] } = filter;
    return { ...filter, resourceSubscriptions: [...resourceSubscriptions, ...uris] };
  }

  /** Each chunk of the SDK is one message. */
  async fromSdk(call: McpCall, chunk: string): Promise<string> {
    if (!chunk.includes(PREFIX)) return chunk;
    const start = chunk.indexOf(DATA) + DATA.length;
    const message = JSON.parse(chunk.slice(start)) as Notification;
    const converted = await this.converted(call, message);
    return `${chunk.slice(0, start)}${JSON.stringify(converted)}\n\n`;
  }

  private async converted(call: McpCall, message: Notification): Promise<Notification> {
    const { params = {} } = message;
    const { uri, notifications, ...rest } = params;
    if (notifications) return { ...message, params: { ...rest, notifications: restored(notifications) } };
    if (typeof uri !== 'string' || !uri.startsWith(PREFIX)) return message;
    const task = toDetailedTask(await this.tasks.get(call, uri.slice(PREFIX.length)), followUpsOf(call));
    return { ...message, method: METHOD, params: { ...rest, ...task } };
  }

  private async isVisible(call: McpCall, id: string): Promise<boolean> {
    try {
      await this.tasks.get(call, id);
      return true;
    } catch (error) {
      if (error instanceof RunNotFoundError) return false;
      throw error;
    }
  }
}

function restored({ resourceSubscriptions = [], ...filter }: Filter): Filter {
  const isTask = (uri: string): boolean => uri.startsWith(PREFIX);
  const resources = resourceSubscriptions.filter((uri) => !isTask(uri));
  const taskIds = resourceSubscriptions.filter(isTask).map((uri) => uri.slice(PREFIX.length));
  return { ...filter, ...(resources.length > 0 && { resourceSubscriptions: resources }), taskIds };
}
