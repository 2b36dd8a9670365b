import { connect } from './call.js';
import { OPERATIONS, type Operations } from './generated/operations.js';
import type {
  CloudEventView,
  EventsSnapshotResponse,
  EventsStreamData,
  RunsStreamResponse,
  RunView,
  StreamEnd,
  EventsStreamResponse,
} from './generated/schema.js';
import { pause, pauseBefore } from './pause.js';
import { isTransient, RollcallError } from './rollcall.error.js';
import type { CallOptions, HttpTransport } from './transport.js';

type EventFilter = Omit<NonNullable<EventsStreamData['query']>, 'types'>;
type EventTypeOf<Event> = Event extends { type: infer Type } ? Type : never;
type EventType = EventTypeOf<CloudEventView>;
/** The type of an event without the prefix, such as `agent.joined`. */
export type EventName = EventType extends `dev.rollcall.${infer Name}` ? Name : never;
/** `agent.*` stands for all types that start with `agent.` */
type EventTypePattern = EventName | EventType | `${string}.*`;

const TYPE_PREFIX = 'dev.rollcall.';

/** The name of an event: its type without the prefix `dev.rollcall.`, such as `agent.joined`. */
export function eventName({ type }: { readonly type: EventType }): EventName {
  return type.slice(TYPE_PREFIX.length) as EventName;
}

interface ReconnectOptions {
  signal?: AbortSignal;
  /** Called before each new connection, with the reason. */
  onReconnect?: (error: RollcallError) => void;
}

/** Which events are followed, and from where. */
export interface FollowOptions extends EventFilter, ReconnectOptions {
  /** Only events of these types. */
  types?: readonly EventTypePattern[];
}

/** An event with the cursor after it. Store the cursor to continue later with `after`. */
export type FollowedEvent = CloudEventView & { cursor: string };

/** All agents at one position of the log. It replaces everything that earlier events said. */
export interface FollowedSnapshot {
  type: 'snapshot';
  cursor: string;
  data: EventsSnapshotResponse;
}

/** How the events of a run are watched. */
export interface RunWatchOptions extends ReconnectOptions {
  /** Only steps after this one. */
  afterStep?: number;
}

type EndMessage = Extract<EventsStreamResponse, { event: 'end' }>;

/** A step, a state, or a piece of the answer. */
export type WatchedMessage = Exclude<RunsStreamResponse, EndMessage>;

/**
 * Yields every event after `after` once, in the order of the log, over any number of connections and replicas. If the log cannot be
 * continued from there, it yields a snapshot first. It throws on a rejection that repetitions do not change, such as 401, 403 and 404.
 */
export async function* followEvents(
  transport: HttpTransport,
  { events }: Pick<Operations, 'events'>,
  { after: start = 'latest', onReconnect, signal, types, ...rest }: FollowOptions,
): AsyncGenerator<FollowedEvent | FollowedSnapshot, void> {
  const connections = new Connections({ signal, onReconnect });
  const filter = { ...rest, ...(types && { types: [...types] }) };
  let after = start;
  for (;;) {
    try {
      // a cursor instead of `latest`, so that the next connection misses nothing
      if (after === 'latest') after = (await events.page({ after, limit: 1 }, { signal })).next;
      const input = { ...filter, after };
      for await (const message of connect<EventsStreamResponse>(transport, OPERATIONS.events.stream, input, {
        signal,
      })) {
        connections.onMessage();
        if (isEnd(message)) throw endOf(message.data);
        after = message.id;
        if (message.data !== undefined) yield { ...message.data, cursor: message.id };
      }
      await connections.pauseAfter(new RollcallError('STREAM_ENDED', 'The server closed the stream.'));
    } catch (error) {
      if (isUnusableCursor(error)) {
        const data = await untilRead(connections, async () => await events.snapshot({ signal }));
        yield { type: 'snapshot', cursor: data.cursor, data };
        after = data.cursor;
      } else {
        await connections.pauseAfter(error);
      }
    }
  }
}

/** Yields every step of a run once, each state, and the pieces of its answer, until the run is finished. */
export async function* watchRun(
  transport: HttpTransport,
  id: string,
  { afterStep: start = 0, ...options }: RunWatchOptions,
): AsyncGenerator<WatchedMessage, void> {
  const connections = new Connections(options);
  const call: CallOptions = { signal: options.signal };
  let afterStep = start;
  for (;;) {
    try {
      const messages = connect<RunsStreamResponse>(transport, OPERATIONS.runs.stream, id, { afterStep }, call);
      for await (const message of messages) {
        connections.onMessage();
        if (isEnd(message)) throw endOf(message.data);
        if (message.event === 'position') continue;
        if (message.event === 'step') afterStep = message.data.seq;
        yield message;
        if (message.event === 'state' && isFinished(message.data)) return;
      }
      await connections.pauseAfter(new RollcallError('STREAM_ENDED', 'The server closed the stream.'));
    } catch (error) {
      await connections.pauseAfter(error);
    }
  }
}

/** Whether the run never changes again. */
export function isFinished({ state }: Pick<RunView, 'state'>): boolean {
  return state !== 'queued' && state !== 'running' && state !== 'waiting';
}

function isEnd(message: { event: string }): message is EndMessage {
  return message.event === 'end';
}

/** Decides what follows a lost connection, and pauses before the next one. */
class Connections {
  private failures = 0;

  constructor(
    private readonly options: { signal?: AbortSignal | undefined; onReconnect?: ReconnectOptions['onReconnect'] },
  ) {}

  onMessage(): void {
    this.failures = 0;
  }

  /** Throws an error that a new connection would get, too. */
  async pauseAfter(error: unknown): Promise<void> {
    const { signal, onReconnect } = this.options;
    signal?.throwIfAborted();
    if (!(error instanceof RollcallError) || !(error.code === 'STREAM_ENDED' || isTransient(error))) throw error;
    this.failures += 1;
    onReconnect?.(error);
    await pause(pauseBefore(this.failures, error.retryAfterMs), signal);
  }
}

async function untilRead<T>(connections: Connections, read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      await connections.pauseAfter(error);
    }
  }
}

function endOf(reason: StreamEnd): RollcallError {
  if (CURSOR_CODES.has(reason.code)) return new RollcallError(reason.code, reason.detail);
  return new RollcallError('STREAM_ENDED', `${reason.code}: ${reason.detail}`);
}

const CURSOR_CODES = new Set<string>(['CURSOR_EXPIRED', 'CURSOR_AHEAD', 'CURSOR_FOREIGN']);

function isUnusableCursor(error: unknown): boolean {
  return error instanceof RollcallError && CURSOR_CODES.has(error.code);
}
