import { readFileSync } from 'node:fs';
import {
  jetstream,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamClient,
  jetstreamManager,
} from '@nats-io/jetstream';
import {
  connect,
  credsAuthenticator,
  headers,
  nanos,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { toCloudEventText } from '../events/cloud-event.js';
import type { EventMatcher } from '../events/event.catalog.js';
import type { RegistryEvent } from '../events/event.js';
import { ALL_NAMESPACES } from '../namespaces/namespace.js';
import type { EventSink, Receipt, RetryPolicy } from './event.sink.js';

export interface NatsSinkOptions {
  /** One or more servers of one cluster, separated by commas. */
  url?: string;
  credentials?: string;
  user?: string;
  password?: string;
  token?: string;
  stream: string;
  subjectPrefix: string;
  /** The maximum age of messages in a stream that this sink creates. */
  keepMs: number;
}

const CONNECT_MS = 3_000;
const ACK_MS = 5_000;
const BATCH = 100;
/** Stands for all namespaces in a subject, because `*` is a wildcard in NATS. It is not a valid name of a namespace. */
const ALL_TOKEN = '_all';

interface OpenStream {
  connection: NatsConnection;
  client: JetStreamClient;
}

/**
 * Publishes events to a JetStream stream, at least once. The message id (`Nats-Msg-Id`) is the event id, so JetStream
 * drops an event that is published again within the stream's duplicate window; an event published again later is stored
 * twice.
 *
 * The messages of a batch are published without waiting for each other. When the stream rejects one of them, the whole
 * batch is published again, so the rejected event can come after later events in the stream. A failed connection is
 * closed and replaced.
 */
export class NatsSink implements EventSink {
  readonly batch = BATCH;
  readonly keepsDeliveries = false;
  readonly retries: RetryPolicy = { maxAttempts: null, firstDelayMs: 200, maxDelayMs: 5_000 };
  readonly matches: EventMatcher = () => true;
  readonly namespace = ALL_NAMESPACES;
  private opening?: Promise<OpenStream>;

  constructor(private readonly options: NatsSinkOptions) {}

  async deliver(events: readonly RegistryEvent[]): Promise<Receipt> {
    this.opening ??= this.open();
    try {
      const { client } = await this.opening;
      await Promise.all(events.map(async (event) => await this.publish(client, event)));
      return {};
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const opening = this.opening;
    this.opening = undefined;
    const open = await opening?.catch(() => undefined); // deliver() has thrown this error
    await open?.connection.close();
  }

  private async publish(client: JetStreamClient, event: RegistryEvent): Promise<void> {
    const messageHeaders = headers();
    messageHeaders.set('content-type', 'application/cloudevents+json');
    await client.publish(this.subjectOf(event), toCloudEventText(event), {
      msgID: event.id,
      headers: messageHeaders,
      timeout: ACK_MS,
    });
  }

  /** The namespace precedes the type, so that permissions in NATS can separate namespaces. */
  private subjectOf({ namespace, type }: RegistryEvent): string {
    const token = namespace === ALL_NAMESPACES ? ALL_TOKEN : namespace;
    return `${this.options.subjectPrefix}.${token}.${type}`;
  }

  private async open(): Promise<OpenStream> {
    const connection = await connect({
      ...connectionOptions(this.options),
      reconnect: false,
      timeout: CONNECT_MS,
      name: 'rollcall',
    });
    try {
      await this.ensureStream(connection);
      return { connection, client: jetstream(connection) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  private async ensureStream(connection: NatsConnection): Promise<void> {
    const { stream: name, subjectPrefix, keepMs } = this.options;
    const { streams } = await jetstreamManager(connection);
    try {
      await streams.info(name);
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) throw error;
      await streams.add({ name, subjects: [`${subjectPrefix}.>`], max_age: nanos(keepMs) });
    }
  }
}

function connectionOptions({ url = '', credentials, user, password, token }: NatsSinkOptions): NodeConnectionOptions {
  return {
    servers: url.split(','),
    ...(credentials !== undefined && { authenticator: credsAuthenticator(readFileSync(credentials)) }),
    ...(user !== undefined && { user, pass: password }),
    ...(token !== undefined && { token }),
  };
}
