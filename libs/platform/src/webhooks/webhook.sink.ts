import { toCloudEventText } from '../events/cloud-event.js';
import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.types.js';
import type { EventSink, Receipt } from '../sinks/event.sink.js';
import type { RetryPolicy } from '../sinks/retry.policy.js';
import type { WebhookOptions } from './webhook.options.js';
import type { SigningSecret } from './webhook.secrets.js';
import { signedHeaders } from './webhook.signature.js';
import { confirmed, type WebhookTransport } from './webhook.transport.js';

export interface WebhookTarget {
  url: string;
  /** The secrets that are valid at this time: one, or two during the overlap after a rotation. */
  secretsAt(milliseconds: number): SigningSecret[];
  matches: EventMatcher;
  /** `*` for all namespaces. */
  namespace: string;
}

const CONTENT_TYPE = { 'content-type': 'application/cloudevents+json; charset=utf-8' };

/** Sends each event as a CloudEvent in a signed POST request. */
export class WebhookSink implements EventSink {
  readonly batch = 1;
  readonly keepsDeliveries = true;
  readonly matches: EventMatcher;
  readonly namespace: string;
  readonly retries: RetryPolicy;

  constructor(
    private readonly target: WebhookTarget,
    private readonly transport: WebhookTransport,
    private readonly options: Pick<WebhookOptions, 'retries' | 'now'>,
  ) {
    this.matches = target.matches;
    this.namespace = target.namespace;
    this.retries = options.retries;
  }

  async deliver([event]: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt> {
    if (!event) return {};
    const { url } = this.target;
    const body = toCloudEventText(event);
    const headers = { ...CONTENT_TYPE, ...this.signatureOf(event, body) };
    return confirmed(await this.transport.post({ url, headers, body, signal }));
  }

  async close(): Promise<void> {
    // nothing to close: all webhooks share the connections of the transport
  }

  private signatureOf({ id }: RegistryEvent, body: string): Record<string, string> {
    const now = this.options.now();
    return signedHeaders(id, Math.floor(now / 1_000), body, this.target.secretsAt(now));
  }
}
