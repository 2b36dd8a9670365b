import { randomBytes, randomUUID } from 'node:crypto';
import type {
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import {
  Database,
  EventLog,
  PUSH_KIND,
  type Quota,
  QuotaExceededError,
  SinksService,
  WebhookSecrets,
} from '#rollcall/platform';
import { EgressPolicy, normalizeUrl, Secret } from '#rollcall/providers';
import { AuditService } from '../../audit/audit.service.js';
import { schemaFailed } from '../../http/validation/validation.errors.js';
import type { IncomingCall } from '../incoming.calls.js';
import { protocolVersionOf } from '../protocol.version.js';
import { A2aTasks, invalidPageToken } from '../tasks/a2a.tasks.js';
import { type PushRow, PushStore } from './push.store.js';

const MAX_PER_TASK = 10;

/** A `pageSize` of 0 means this number, because the decoded request has 0 if the field is missing. */
const MAX_PAGE = 100;

const MAX_ID = 256;
const MAX_SECRET = 4_096;
/** The value of a header, which must not contain a line break. */
const HeaderValue = z
  .string()
  .max(MAX_SECRET)
  .regex(/^[\x20-\x7e]*$/, 'must contain only visible ASCII characters');
const ConfigSchema = z.object({
  id: z.string().max(MAX_ID),
  url: z.string().min(1, 'is required').max(2_048),
  token: HeaderValue,
  authentication: z
    .object({
      scheme: z.string().regex(/^[A-Za-z0-9-]{1,64}$/, 'must be the name of a scheme, such as Bearer'),
      credentials: HeaderValue,
    })
    .optional(),
});

type CheckedPush = z.infer<typeof ConfigSchema>;

export interface PushSecrets {
  readonly token: string;
  readonly credentials: string;
}

/** A checked configuration that is not stored yet. */
type NewPush = CheckedPush & { readonly version: string };

/**
 * The configurations of push notifications. Each configuration has a sink, which delivers like a webhook and stops when the task ends.
 * All changes are made in the transaction of the caller.
 */
@Injectable()
export class PushConfigs {
  constructor(
    private readonly store: PushStore,
    private readonly sinks: SinksService,
    private readonly log: EventLog,
    private readonly secrets: WebhookSecrets,
    private readonly egress: EgressPolicy,
    private readonly quota: Quota,
  ) {}

  /** Rejects with EGRESS_DENIED if the URL may not be called. */
  check(config: TaskPushNotificationConfig, version: string): NewPush {
    const checked = checkPush(config);
    return { ...checked, url: normalizeUrl(this.egress.checkUrl(checked.url)), version };
  }

  /**
   * Adds a configuration, or replaces the one with the same id. `read` returns the run. It is called after the position in the log was
   * read, so the end of the run is never missed: either the state of the run or a later event shows it.
   */
  async save(push: NewPush, createdBy: string, read: () => Promise<Run>): Promise<PushRow> {
    const after = await this.log.head();
    const run = await read();
    await this.store.lock(run.id);
    const existing = await this.store.list(run.id);
    const same = existing.find(({ configId }) => configId === push.id);
    if (!same && existing.length >= MAX_PER_TASK)
      throw new RequestMalformedError(`A task has at most ${MAX_PER_TASK} push notification configurations.`);
    if (!same) await this.checkQuota(createdBy);
    const row = this.toRow(push, createdBy, run, same?.id ?? `push_${randomBytes(12).toString('hex')}`);
    await this.store.save(row);
    if (same) await this.sinks.reload(row.id);
    else if (!isFinal(run.state)) await this.sinks.add(row.id, PUSH_KIND, { after });
    return row;
  }

  async list(run: Run): Promise<PushRow[]> {
    return await this.store.list(run.id);
  }

  async find(run: Run, configId: string): Promise<PushRow | undefined> {
    return (await this.list(run)).find((row) => row.configId === configId);
  }

  async remove({ id }: PushRow): Promise<void> {
    await this.store.delete(id);
    await this.sinks.remove(id);
  }

  private async checkQuota(createdBy: string): Promise<void> {
    const { limit } = this.quota;
    if (limit > 0 && (await this.store.countOf(createdBy, limit)) >= limit)
      throw new QuotaExceededError(this.quota, 'push notification configurations');
  }

  private toRow(push: NewPush, createdBy: string, { id: runId, namespace }: Run, id: string): PushRow {
    const { id: configId, url, token, authentication, version } = push;
    const { scheme = null, credentials = '' } = authentication ?? {};
    const text = JSON.stringify({ token, credentials } satisfies PushSecrets);
    const secrets = token || credentials ? this.secrets.seal(new Secret(text), id) : null;
    return { id, namespace, runId, configId: configId || randomUUID(), url, scheme, secrets, version, createdBy };
  }
}

/** The push notifications of the tasks that a caller may change. Credentials and tokens are never returned. */
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
  async addTo({ caller }: IncomingCall, run: Run, push: NewPush | undefined): Promise<void> {
    if (push) await this.save(push, caller.owner, async () => await Promise.resolve(run));
  }

  async create(call: IncomingCall, config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    const read = async (): Promise<Run> => await this.tasks.getOwn(call, config.taskId);
    await read(); // so that a task that does not exist is reported before an invalid field; `save` reads the run again
    const push = this.configs.check(config, protocolVersionOf(call.request));
    return toConfig(await this.db.transaction(async () => await this.save(push, call.caller.owner, read)));
  }

  /** Clients of version 0.3 may leave the id out: they get the first configuration. */
  async get(call: IncomingCall, taskId: string, id: string): Promise<TaskPushNotificationConfig> {
    const rows = await this.configs.list(await this.tasks.getOwn(call, taskId));
    const row = rows.find(({ configId }) => id === '' || configId === id);
    if (!row) throw new TaskNotFoundError('There is no such task or configuration, or it is not yours.');
    return toConfig(row);
  }

  async list(
    call: IncomingCall,
    { taskId, pageSize, pageToken }: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    if (!Number.isInteger(pageSize) || pageSize < 0 || pageSize > MAX_PAGE)
      throw new RequestMalformedError(`pageSize must be a whole number from 0 to ${MAX_PAGE}.`);
    const rows = await this.configs.list(await this.tasks.getOwn(call, taskId));
    const start = pageToken ? rows.findIndex(({ id }) => id === pageToken) + 1 : 0;
    if (pageToken && start === 0) throw invalidPageToken();
    const page = rows.slice(start, start + (pageSize || MAX_PAGE));
    const last = start + page.length < rows.length ? page.at(-1) : undefined;
    return { configs: page.map(toConfig), nextPageToken: last?.id ?? '' };
  }

  /** Deleting a configuration that does not exist succeeds. */
  async delete(call: IncomingCall, taskId: string, id: string): Promise<void> {
    const run = await this.tasks.getOwn(call, taskId);
    await this.db.transaction(async () => {
      const row = await this.configs.find(run, id);
      if (!row) return;
      await this.configs.remove(row);
      await this.audit.record('run.push_deleted', run, { configId: id });
    });
  }

  private async save(push: NewPush, by: string, read: () => Promise<Run>): Promise<PushRow> {
    const row = await this.configs.save(push, by, read);
    const { runId: id, namespace, configId } = row;
    await this.audit.record('run.push_created', { id, namespace }, { configId });
    return row;
  }
}

function toConfig({ runId: taskId, configId: id, url, scheme }: PushRow): TaskPushNotificationConfig {
  const authentication = scheme === null ? undefined : { scheme, credentials: '' };
  return { tenant: '', taskId, id, url, token: '', authentication };
}

/** Checks the fields that become parts of requests to the client. */
function checkPush(config: TaskPushNotificationConfig): CheckedPush {
  const { data, error } = ConfigSchema.safeParse(config);
  if (data) return data;
  throw schemaFailed(error, { root: 'params' });
}
