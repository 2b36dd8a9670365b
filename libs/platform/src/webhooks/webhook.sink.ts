import { toCloudEventText } from '../events/cloud-event.js';
import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.types.js';
import { DeliveryError, type EventSink, type Receipt } from '../sinks/event.sink.js';
import type { RetryPolicy } from '../sinks/retry.policy.js';
import type { SigningSecret } from './webhook.secrets.js';
import { signedHeaders } from './webhook.signature.js';
import type { WebhookTransport } from './webhook.transport.js';

export interface WebhookTarget {
  url: string;
  /** The secrets that are valid at this time: one, or two during the overlap after a rotation. */
  secretsAt(milliseconds: number): SigningSecret[];
  matches: EventMatcher;
}

const CONTENT_TYPE = { 'content-type': 'application/cloudevents+json; charset=utf-8' };

/** One endpoint. Every event is a signed POST of its own, as a CloudEvent; any 2xx confirms the delivery. */
export class WebhookSink implements EventSink {
  readonly batch = 1;
  readonly keepsDeliveries = true;
  readonly matches: EventMatcher;

  constructor(
    private readonly target: WebhookTarget,
    private readonly transport: WebhookTransport,
    readonly retries: RetryPolicy,
  ) {
    this.matches = target.matches;
  }

  async deliver([event]: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt> {
    if (!event) return {};
    const { url } = this.target;
    const body = toCloudEventText(event);
    const headers = { ...CONTENT_TYPE, ...this.signatureOf(event, body) };
    const { status, retryAfterMs } = await this.transport.post({ url, headers, body, signal });
    if (status >= 200 && status < 300) return { status };
    throw new DeliveryError(`The endpoint answered ${status}.`, { status, retryAfterMs });
  }

  async close(): Promise<void> {
    // the transport keeps the connections of all webhooks
  }

  /** Receivers compare the timestamp with their own clock, so it is wall-clock time. */
  private signatureOf({ id }: RegistryEvent, body: string): Record<string, string> {
    const now = Date.now();
    return signedHeaders(id, Math.floor(now / 1_000), body, this.target.secretsAt(now));
  }
}
