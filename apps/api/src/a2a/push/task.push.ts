import type {
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import type { Run } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { AuditService } from '../../audit/audit.service.js';
import type { IncomingCall } from '../incoming.calls.js';
import { protocolVersionOf } from '../protocol.version.js';
import { A2aTasks, invalidPageToken } from '../tasks/a2a.tasks.js';
import { type NewPush, PushConfigs } from './push.configs.js';
import type { PushRow } from './push.store.js';

/** A `pageSize` of 0 means this number, because the decoded request has 0 if the field is missing. */
const MAX_PAGE = 100;

/** The push notifications of the tasks of a caller. Credentials and tokens are never returned. */
@Injectable()
export class TaskPush {
  constructor(
    private readonly tasks: A2aTasks,
    private readonly configs: PushConfigs,
    private readonly db: Database,
    private readonly audit: AuditService,
  ) {}

  /** Checks the configuration in a message. `addTo` stores it. */
  checked({ request }: IncomingCall, config: TaskPushNotificationConfig | undefined): NewPush | undefined {
    return config && this.configs.check(config, protocolVersionOf(request));
  }

  /** Call this in the transaction that starts or continues the run. */
  async addTo(run: Run, push: NewPush | undefined): Promise<void> {
    if (push) await this.save(push, async () => await Promise.resolve(run));
  }

  async create(call: IncomingCall, config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    const read = async (): Promise<Run> => await this.tasks.get(call, config.taskId);
    await read(); // so that a task that does not exist is reported before an invalid field; `save` reads the run again
    const push = this.configs.check(config, protocolVersionOf(call.request));
    return toConfig(await this.db.transaction(async () => await this.save(push, read)));
  }

  async get(call: IncomingCall, taskId: string, id: string): Promise<TaskPushNotificationConfig> {
    const row = await this.configs.find(await this.tasks.get(call, taskId), id);
    if (!row) throw new TaskNotFoundError('There is no such task or configuration, or it is not yours.');
    return toConfig(row);
  }

  async list(
    call: IncomingCall,
    { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    if (!Number.isInteger(pageSize) || pageSize < 0 || pageSize > MAX_PAGE)
      throw new RequestMalformedError(`pageSize must be a whole number from 0 to ${MAX_PAGE}.`);
    const rows = await this.configs.list(await this.tasks.get(call, taskId));
    const start = pageToken ? rows.findIndex(({ id }) => id === pageToken) + 1 : 0;
    if (pageToken && start === 0) throw invalidPageToken();
    const page = rows.slice(start, start + (pageSize || MAX_PAGE));
    const last = start + page.length < rows.length ? page.at(-1) : undefined;
    return { configs: page.map(toConfig), nextPageToken: last?.id ?? '' };
  }

  /** Deleting a configuration that does not exist succeeds. */
  async delete(call: IncomingCall, taskId: string, id: string): Promise<void> {
    const run = await this.tasks.get(call, taskId);
    await this.db.transaction(async () => {
      const row = await this.configs.find(run, id);
      if (!row) return;
      await this.configs.remove(row);
      await this.audit.record('run.push_deleted', run, { configId: id });
    });
  }

  private async save(push: NewPush, read: () => Promise<Run>): Promise<PushRow> {
    const row = await this.configs.save(push, read);
    const { runId: id, namespace, configId } = row;
    await this.audit.record('run.push_created', { id, namespace }, { configId });
    return row;
  }
}

function toConfig({ runId: taskId, configId: id, url, scheme }: PushRow): TaskPushNotificationConfig {
  const authentication = scheme === null ? undefined : { scheme, credentials: '' };
  return { tenant: '', taskId, id, url, token: '', authentication };
}
