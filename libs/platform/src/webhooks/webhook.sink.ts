import { Inject, Injectable } from '@nestjs/common';
import { toCloudEventText } from '../events/cloud-event.js';
import { EventCatalog, type EventFilter, type EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.js';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import type { Quota } from '../quota.js';
import { DeliveryError, type EventSink, type Receipt, type RetryPolicy } from '../sinks/event.sink.js';
import { signedHeaders, type SigningSecret, WebhookSecrets } from './webhook.signature.js';
import { type SigningRow, WebhookStore } from './webhook.store.js';

export interface WebhookRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  signal: AbortSignal;
}

export interface WebhookAnswer {
  status: number;
  /** How long the endpoint asks to wait before the next attempt. */
  retryAfterMs?: number;
}

/** A 2xx status confirms a delivery. Throws for any other status, so that the delivery is repeated. */
export function confirmed({ status, retryAfterMs }: WebhookAnswer): Receipt {
  if (status >= 200 && status < 300) return { status };
  throw new DeliveryError(`The endpoint responded with ${status}.`, { status, retryAfterMs });
}

/** Sends deliveries over HTTP, guarded against forbidden addresses. The application provides the implementation. */
export abstract class WebhookTransport {
  abstract post(request: WebhookRequest): Promise<WebhookAnswer>;
}

export interface WebhookOptions {
  /** The number of webhooks that one credential may have. */
  quota: Quota;
  retries: RetryPolicy;
  /** Returns the wall-clock time in milliseconds. Receivers compare the timestamp of a delivery with their own clock. */
  now(): number;
}

/** Injection token of `WebhookOptions`. */
export const WEBHOOK_OPTIONS = Symbol('webhook options');

interface WebhookTarget {
  url: string;
  /** The secrets that are valid at this time: one, or two during the overlap after a rotation. */
  secretsAt(milliseconds: number): SigningSecret[];
  matches: EventMatcher;
  /** `*` for all namespaces. */
  namespace: string;
}

const CONTENT_TYPE = { 'content-type': 'application/cloudevents+json; charset=utf-8' };

/** Sends each event as a CloudEvent in a signed POST request. */
class WebhookSink implements EventSink {
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

/** Creates the sinks of webhooks. */
@Injectable()
export class WebhookSinks {
  constructor(
    private readonly store: WebhookStore,
    private readonly secrets: WebhookSecrets,
    private readonly transport: WebhookTransport,
    private readonly catalog: EventCatalog,
    @Inject(WEBHOOK_OPTIONS) private readonly options: WebhookOptions,
  ) {}

  /** Returns undefined if the webhook was deleted. */
  async create(id: string): Promise<EventSink | undefined> {
    const row = await this.store.findForSigning(id);
    return row && new WebhookSink(this.targetOf(row), this.transport, this.options);
  }

  private targetOf(row: SigningRow): WebhookTarget {
    const { id, url, namespace, secret, oldSecret, oldSecretUntil } = row;
    const current = this.secrets.open(secret, id);
    const old = oldSecret && this.secrets.open(oldSecret, id);
    const oldUntil = oldSecretUntil?.getTime() ?? 0;
    const secretsAt: WebhookTarget['secretsAt'] = (now) => (old && oldUntil > now ? [current, old] : [current]);
    return { url, namespace, secretsAt, matches: this.catalog.matcherOf(filterOf(row)) };
  }
}

function filterOf({ namespace, types, agentIds, capabilities }: SigningRow): EventFilter {
  return {
    types: types ?? undefined,
    agentIds: agentIds ?? undefined,
    capabilities: capabilities ?? undefined,
    namespaces: namespace === ALL_NAMESPACES ? undefined : [namespace],
  };
}
