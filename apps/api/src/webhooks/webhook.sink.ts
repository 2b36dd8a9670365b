import {
  DeliveryError,
  type EventMatcher,
  type EventSink,
  type Receipt,
  type RegistryEvent,
  type RetryPolicy,
  toCloudEventText,
} from '#rollcall/platform';
import { type EgressClient, readRetryAfter, type Secret } from '#rollcall/providers';
import { VERSION } from '../version.js';
import { signedHeaders } from './webhook.signature.js';

export interface WebhookTarget {
  url: string;
  /** What signs now: one, or two while one takes the place of the other. */
  secrets(): Secret[];
  matches: EventMatcher;
}

const HEADERS = {
  'content-type': 'application/cloudevents+json; charset=utf-8',
  'user-agent': `rollcall/${VERSION}`,
};

/** One endpoint. Every event is a POST of its own, as a CloudEvent, signed; any 2xx says that it has arrived. */
export class WebhookSink implements EventSink {
  readonly batch = 1;
  readonly keepsDeliveries = true;
  readonly matches: EventMatcher;

  constructor(
    private readonly target: WebhookTarget,
    private readonly egress: EgressClient,
    readonly retries: RetryPolicy,
  ) {
    this.matches = target.matches;
  }

  async deliver([event]: readonly RegistryEvent[], signal: AbortSignal): Promise<Receipt> {
    if (!event) return {};
    const body = toCloudEventText(event);
    const signed = signedHeaders(event.id, Math.floor(Date.now() / 1_000), body, this.target.secrets());
    const headers = { ...HEADERS, ...signed };
    const response = await this.egress.fetch(this.target.url, { method: 'POST', headers, body, signal });
    const { status, ok } = response;
    await response.arrayBuffer().catch(() => undefined); // the status has said all; this only frees the connection
    if (ok) return { status };
    const retryAfterMs = readRetryAfter(Object.fromEntries(response.headers));
    throw new DeliveryError(`The endpoint answered ${status}.`, { status, retryAfterMs });
  }

  async close(): Promise<void> {
    // the connections are all webhooks' together
  }
}
