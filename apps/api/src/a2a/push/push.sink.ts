import { RunNotFoundError, type Run } from '#rollcall/agent-runtime';
import {
  confirmed,
  type EventSink,
  type Receipt,
  type RegistryEvent,
  type WebhookOptions,
  type WebhookTransport,
} from '#rollcall/platform';
import { isEnd, notificationOf, serialized, stateAfter } from './push.body.js';
import type { PushRow } from './push.store.js';

export interface PushTarget extends Pick<PushRow, 'url' | 'namespace' | 'runId' | 'version'> {
  /** The headers with the credentials of the client. */
  readonly headers: Readonly<Record<string, string>>;
  run(): Promise<Run>;
}

/** Sends the changes of one task to the URL of its client. */
export class PushSink implements EventSink {
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
