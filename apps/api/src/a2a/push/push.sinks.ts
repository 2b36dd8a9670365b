import { A2A_CONTENT_TYPE, StreamResponse } from '@a2a-js/sdk';
import { A2A_LEGACY_PROTOCOL_VERSION } from '@a2a-js/sdk/compat/v0_3';
import { V03PushNotificationSerializer } from '@a2a-js/sdk/compat/v0_3/server';
import { Inject, Injectable } from '@nestjs/common';
import { type Run, RunNotFoundError, RunReader, type RunStatus, type WaitingFor } from '#rollcall/agent-runtime';
import {
  confirmed,
  type EventSink,
  inBatches,
  Periodic,
  type Receipt,
  type RegistryEvent,
  WEBHOOK_OPTIONS,
  type WebhookOptions,
  WebhookSecrets,
  WebhookTransport,
} from '#rollcall/platform';
import { statusUpdate, toA2aTask } from '../tasks/task.mapper.js';
import type { PushSecrets } from './push.configs.js';
import { type PushRow, PushStore } from './push.store.js';

/** How long a client can read a configuration after the end of its task. */
const KEEP_MS = 3_600_000;
const EVERY_MS = 60_000;
const BATCH = 500;
const NO_SECRETS: PushSecrets = { token: '', credentials: '' };

interface PushTarget extends Pick<PushRow, 'url' | 'namespace' | 'runId' | 'version'> {
  /** The headers with the credentials of the client. */
  readonly headers: Readonly<Record<string, string>>;
  run(): Promise<Run>;
}

interface State {
  readonly state: RunStatus;
  readonly waitingFor: WaitingFor | null;
}

/** Sends the changes of one task to the URL of its client. */
class PushSink implements EventSink {
  readonly batch = 1;
  /** There is no operation that repeats a delivery: the client reads the task instead. */
  readonly keepsDeliveries = false;
  readonly namespace: string;
  readonly retries: WebhookOptions['retries'];

  constructor(
    private readonly target: PushTarget,
    private readonly transport: WebhookTransport,
    { retries }: Pick<WebhookOptions, 'retries'>,
  ) {
    this.namespace = target.namespace;
    this.retries = retries;
  }

  readonly matches = (event: RegistryEvent): boolean =>
    event.subject === this.target.runId && event.namespace === this.namespace && stateAfter(event) !== undefined;

  isLast(event: RegistryEvent): boolean {
    return isEnd(event);
  }

  async deliver([event]: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt> {
    const run = await this.run();
    const notification = event && run && notificationOf(event, run);
    if (!notification) return {};
    const { url, version } = this.target;
    const { body, contentType } = serialized(notification, version);
    const headers = { ...this.target.headers, 'content-type': contentType };
    return confirmed(await this.transport.post({ url, headers, body, signal }));
  }

  async close(): Promise<void> {
    // nothing to close: all sinks share the connections of the transport
  }

  /** Undefined if the task was deleted. */
  private async run(): Promise<Run | undefined> {
    try {
      return await this.target.run();
    } catch (error) {
      if (error instanceof RunNotFoundError) return undefined;
      throw error;
    }
  }
}

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

/** The state of a run after an event; undefined if the event does not change it. */
function stateAfter(event: RegistryEvent): State | undefined {
  const { type, data } = event;
  if (type === 'run.queued') return { state: 'queued', waitingFor: null };
  if (type === 'run.started') return { state: 'running', waitingFor: null };
  if (type === 'run.waiting') return { state: 'waiting', waitingFor: data.waitingFor };
  if (type === 'run.finished') return { state: data.state, waitingFor: null };
  return type === 'run.cancelled' ? { state: 'cancelled', waitingFor: null } : undefined;
}

function isEnd({ type }: RegistryEvent): boolean {
  return type === 'run.finished' || type === 'run.cancelled';
}

/**
 * The notification of an event: the whole task if the event ends the task, otherwise the new status. `run` may have changed since the
 * event; a question that has already been answered is left out.
 */
function notificationOf(event: RegistryEvent, run: Run): StreamResponse | undefined {
  const after = stateAfter(event);
  if (!after) return undefined;
  if (isEnd(event)) return { payload: { $case: 'task', value: toA2aTask(run, []) } };
  const isCurrent = run.state === after.state && run.waitingFor === after.waitingFor;
  return statusUpdate({ ...run, ...after, stateAt: event.at.toISOString(), result: isCurrent ? run.result : null });
}

/** In version 0.3, the body is the task or the update itself, without a wrapper. */
function serialized(notification: StreamResponse, version: string): { contentType: string; body: string } {
  if (version === A2A_LEGACY_PROTOCOL_VERSION) return new V03PushNotificationSerializer().serialize(notification);
  return { contentType: A2A_CONTENT_TYPE, body: JSON.stringify(StreamResponse.toJSON(notification)) };
}
