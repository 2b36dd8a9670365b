import { readFileSync } from 'node:fs';
import {
  jetstream,
  type JetStreamClient,
  jetstreamManager,
  type JetStreamManager,
  JetStreamApiCodes,
  JetStreamApiError,
  type StoredMsg,
} from '@nats-io/jetstream';
import {
  connect,
  credsAuthenticator,
  headers,
  nanos,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import type { EventLog, EventMatcher, EventSink, Receipt, RegistryEvent, RetryPolicy } from '#rollcall/platform';
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
const BATCH = 100;
/** More than were ever under way, also if others write to the stream too. */
const LOOK_BACK = 5 * BATCH;

interface Open {
  connection: NatsConnection;
  stream: JetStreamClient;
  /** Whether the stream has it already. */
  has(event: RegistryEvent): boolean;
}

/** What tells one of our events in the stream from another. */
interface Place {
  id?: string;
  seq: number;
}

/**
 * A JetStream. The id of a message is the id of its event, so what is sent twice is kept once, and a connection begins with
 * a look at the end of the stream, so that this holds after any time. A connection that failed is thrown away.
 *
 * Events go out a batch at a time without waiting for each other, and a stream may refuse one and take the next. So the
 * look goes back far enough to see what is missing there.
 */
export class NatsSink implements EventSink {
  readonly batch = BATCH;
  readonly keepsDeliveries = false;
  readonly retries: RetryPolicy = { mostTries: null, firstMs: 200, longestMs: 5_000 };
  readonly matches: EventMatcher = () => true;
  private opening?: Promise<Open>;

  constructor(
    private readonly options: NatsSinkOptions,
    private readonly log: EventLog,
  ) {}

  async deliver(events: readonly RegistryEvent[]): Promise<Receipt> {
    const [first] = events;
    if (!first) return {};
    this.opening ??= this.open(first.seq);
    try {
      const { stream, has } = await this.opening;
      await Promise.all(events.filter((event) => !has(event)).map(async (event) => await this.publish(stream, event)));
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

  /** To go on with the event `next`. */
  private async open(next: number): Promise<Open> {
    const connection = await connect({
      ...connectionOptions(this.options),
      reconnect: false,
      timeout: CONNECT_MS,
      name: 'rollcall',
    });
    try {
      const manager = await jetstreamManager(connection);
      await this.ensureStream(manager);
      return { connection, stream: jetstream(connection), has: await this.look(manager, next) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  private async ensureStream(manager: JetStreamManager): Promise<void> {
    const { stream: name, keepMs } = this.options;
    try {
      await manager.streams.info(name);
    } catch (error) {
      if (!(error instanceof JetStreamApiError) || error.code !== JetStreamApiCodes.StreamNotFound) throw error;
      await manager.streams.add({ name, subjects: [this.subjects], max_age: nanos(keepMs) });
    }
  }

  /**
   * What the stream has of the events from `next` on. The last ones are looked at one by one, the farther ones are there from
   * the first on. The stream may hold events of another registry, or of this one before a backup was restored: those do not
   * count.
   */
  private async look(manager: JetStreamManager, next: number): Promise<Open['has']> {
    const end = await manager.streams.getMessage(this.options.stream, { last_by_subj: this.subjects });
    if (!end || placeOf(end).seq < next) return () => false;
    const late = await this.lastUpTo(manager, end.seq);
    if (!late[0] || !(await this.isOurs(late[0]))) return () => false;
    const ids = new Set(late.map(({ id }) => id));
    const lowest = Math.min(...late.map(({ seq }) => seq));
    const from = { seq: 1, next_by_subj: this.subjects } as { seq: number }; // its types leave out what it takes
    const first = await manager.streams.getMessage(this.options.stream, from);
    const start = first ? placeOf(first).seq : lowest;
    return ({ id, seq }) => ids.has(id) || (seq >= start && seq < lowest);
  }

  /** Newest first. */
  private async lastUpTo(manager: JetStreamManager, end: number): Promise<Place[]> {
    const positions = Array.from({ length: Math.min(LOOK_BACK, end) }, (_, index) => end - index);
    const messages = await Promise.all(
      positions.map(async (seq) => await manager.streams.getMessage(this.options.stream, { seq })),
    );
    const ours = `${this.options.subjectPrefix}.`;
    return messages
      .filter((message) => message !== null)
      .filter(({ subject }) => subject.startsWith(ours))
      .map(placeOf)
      .filter(({ seq }) => Number.isSafeInteger(seq));
  }

  private async isOurs({ id, seq }: Place): Promise<boolean> {
    if (!(seq > (await this.log.oldest())) || seq > (await this.log.head())) return false;
    const { events } = await this.log.page(seq - 1, 1);
    return events[0]?.id === id;
  }

  private get subjects(): string {
    return `${this.options.subjectPrefix}.>`;
  }
}

/** Without a number if it is none of ours. */
function placeOf(message: StoredMsg): Place {
  try {
    const { id, sequence } = message.json<{ id?: string; sequence?: string }>();
    return { id, seq: Number(sequence) };
  } catch {
    return { seq: NaN }; // anyone may write to a stream
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
