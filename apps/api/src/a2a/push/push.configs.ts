import { randomBytes, randomUUID } from 'node:crypto';
import type { TaskPushNotificationConfig } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import { EventLog, PUSH_KIND, SinksService, WebhookSecrets } from '#rollcall/platform';
import { EgressPolicy, normalizeUrl, Secret } from '#rollcall/providers';
import { schemaFailed } from '../../http/schema.error.js';
import { type PushRow, PushStore } from './push.store.js';

const MAX_PER_TASK = 10;

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
export type NewPush = CheckedPush & { readonly version: string };

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
  async save(push: NewPush, read: () => Promise<Run>): Promise<PushRow> {
    const after = await this.log.head();
    const run = await read();
    await this.store.lock(run.id);
    const existing = await this.store.list(run.id);
    const same = existing.find(({ configId }) => configId === push.id);
    if (!same && existing.length >= MAX_PER_TASK)
      throw new RequestMalformedError(`A task has at most ${MAX_PER_TASK} push notification configurations.`);
    const row = this.toRow(push, run, same?.id ?? `push_${randomBytes(12).toString('hex')}`);
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

  private toRow(push: NewPush, { id: runId, namespace }: Run, id: string): PushRow {
    const { id: configId, url, token, authentication, version } = push;
    const { scheme = null, credentials = '' } = authentication ?? {};
    const text = JSON.stringify({ token, credentials } satisfies PushSecrets);
    const secrets = token || credentials ? this.secrets.seal(new Secret(text), id) : null;
    return { id, namespace, runId, configId: configId || randomUUID(), url, scheme, secrets, version };
  }
}

/** Checks the fields that become parts of requests to the client. */
function checkPush(config: TaskPushNotificationConfig): CheckedPush {
  const { data, error } = ConfigSchema.safeParse(config);
  if (data) return data;
  throw schemaFailed(error, { root: 'params' });
}
