import { readFileSync } from 'node:fs';
import {
  jetstream,
  type JetStreamClient,
  jetstreamManager,
  type JetStreamManager,
  JetStreamApiCodes,
  JetStreamApiError,
} from '@nats-io/jetstream';
import {
  connect,
  credsAuthenticator,
  headers,
  nanos,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import type { EventLog, EventMatcher, EventSink, Receipt, RegistryEvent, RetryPolicy } from '#rollcall/registry';
import { toCloudEventText } from '../events/cloud-event.js';

export interface NatsSinkOptions {
  /** Of one cluster, separated by commas. */
  url?: string;
  credentials?: string;
  user?: string;
  password?: string;
  token?: string;
  stream: string;
  subjectPrefix: string;
  /** Of a stream that we make ourselves. */
  keepMs: number;
}

const CONNECT_MS = 3_000;
const ACK_MS = 5_000;

interface Open {
  connection: NatsConnection;
  stream: JetStreamClient;
  /** The last of our events that the stream has. */
  has: number;
}

/**
 * A JetStream. The id of a message is the id of its event, so what is sent twice is kept once, and a connection begins with
 * a look at the end of the stream, so that this holds after any time. A connection that failed is thrown away.
 */
export class NatsSink implements EventSink {
  readonly batch = 100;
  readonly keepsDeliveries = false;
  readonly retries: RetryPolicy = { mostTries: null, firstMs: 200, longestMs: 5_000 };
  readonly matches: EventMatcher = () => true;
  private opening?: Promise<Open>;

  constructor(
    private readonly options: NatsSinkOptions,
    private readonly log: EventLog,
  ) {}

  async deliver(events: readonly RegistryEvent[]): Promise<Receipt> {
    this.opening ??= this.open();
    try {
      const { stream, has } = await this.opening;
      await Promise.all(events.filter(({ seq }) => seq > has).map(async (event) => await this.publish(stream, event)));
      return {};
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  async close(): Promise<void> {
    const opening = this.opening;
    this.opening = undefined;
    const open = await opening?.catch(() => undefined); // it was told when it failed
    await open?.connection.close();
  }

  private async publish(stream: JetStreamClient, event: RegistryEvent): Promise<void> {
    const type = headers();
    type.set('content-type', 'application/cloudevents+json');
    const subject = `${this.options.subjectPrefix}.${event.type}`;
    await stream.publish(subject, toCloudEventText(event), { msgID: event.id, headers: type, timeout: ACK_MS });
  }

  private async open(): Promise<Open> {
    const connection = await connect({
      ...connectionOptions(this.options),
      reconnect: false,
      timeout: CONNECT_MS,
      name: 'rollcall',
    });
    try {
      const manager = await jetstreamManager(connection);
      await this.ensureStream(manager);
      return { connection, stream: jetstream(connection), has: await this.lastOf(manager) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  private async ensureStream(manager: JetStreamManager): Promise<void> {
    const { stream: name, subjectPrefix, keepMs } = this.options;
    try {
      await manager.streams.info(name);
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) throw error;
      await manager.streams.add({ name, subjects: [`${subjectPrefix}.>`], max_age: nanos(keepMs) });
    }
  }

  /** The stream may hold events of another registry, or of this one before a backup was restored: those do not count. */
  private async lastOf(manager: JetStreamManager): Promise<number> {
    const { stream, subjectPrefix } = this.options;
    const last = await manager.streams.getMessage(stream, { last_by_subj: `${subjectPrefix}.>` });
    if (!last) return 0;
    const { id, sequence } = last.json<{ id?: string; sequence?: string }>();
    const seq = Number(sequence);
    if (!(seq > (await this.log.oldest())) || seq > (await this.log.head())) return 0;
    const { events } = await this.log.page(seq - 1, 1);
    return events[0]?.id === id ? seq : 0;
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
