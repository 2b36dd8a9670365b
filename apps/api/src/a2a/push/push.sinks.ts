import { Inject, Injectable } from '@nestjs/common';
import { RunReader } from '#rollcall/agent-runtime';
import {
  type EventSink,
  inBatches,
  Periodic,
  WEBHOOK_OPTIONS,
  type WebhookOptions,
  WebhookSecrets,
  WebhookTransport,
} from '#rollcall/platform';
import type { PushSecrets } from './push.configs.js';
import { PushSink } from './push.sink.js';
import { type PushRow, PushStore } from './push.store.js';

/** How long a client can read a configuration after the end of its task. */
const KEEP_MS = 3_600_000;
const EVERY_MS = 60_000;
const BATCH = 500;
const NO_SECRETS: PushSecrets = { token: '', credentials: '' };

/** Creates the sinks of push notifications, and deletes old configurations. */
@Injectable()
export class PushSinks {
  constructor(
    private readonly store: PushStore,
    private readonly runs: RunReader,
    private readonly secrets: WebhookSecrets,
    private readonly transport: WebhookTransport,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {}

  /** Returns undefined if the configuration was deleted. */
  async create(id: string): Promise<EventSink | undefined> {
    const row = await this.store.find(id);
    if (!row) return undefined;
    const { namespace, runId, url, version } = row;
    const run = async (): ReturnType<RunReader['get']> => await this.runs.get({ namespace, id: runId });
    const target = { namespace, runId, url, version, headers: this.headersOf(row), run };
    return new PushSink(target, this.transport, this.options);
  }

  @Periodic('a2a.push-retention', EVERY_MS)
  async prune(): Promise<number> {
    return await inBatches(BATCH, async (limit) => await this.store.prune(KEEP_MS, limit));
  }

  private headersOf({ id, scheme, secrets }: PushRow): Record<string, string> {
    const opened = secrets && (JSON.parse(this.secrets.open(secrets, id).reveal()) as PushSecrets);
    const { token, credentials } = opened ?? NO_SECRETS;
    return {
      ...(scheme && credentials && { authorization: `${scheme} ${credentials}` }),
      ...(token && { 'x-a2a-notification-token': token }),
    };
  }
}
