import { Injectable } from '@nestjs/common';
import { Database, type PoolName } from '../postgres/database.js';
import type { NamedStatement } from '../postgres/statement.js';
import { EventCatalog, type EventFilter } from './event.catalog.js';
import type { LogPosition } from './event.cursor.js';
import { EXPIRED_EVENT, type RegistryEvent } from './event.js';

/** NOTIFY channel. The payload is the new head of the log. */
export const EVENT_CHANNEL = 'rollcall_event';

const SEQUENCER_LOCK = 'rollcall.event_sequencer';

export interface StagedEvent {
  type: string;
  namespace: string;
  subject: string;
  capabilities: readonly string[];
  data: object;
}

export interface LogPage {
  /** The newest seq of the log, even if the page is empty. */
  head: number;
  /** Identifies the log. */
  epoch: string;
  /** The first seq after the cursor that is in the log. */
  first: number | undefined;
  /** The position of the newest expired event in the namespaces of the filter; 0 if there is none, or if the filter has no namespaces. */
  expiredTo: number;
  /** The last position that was read for this page. It is the cursor for the next page. */
  upTo: number;
  events: RegistryEvent[];
}

/** Events before a position, the newest first. */
export interface EarlierPage extends Pick<LogPage, 'head' | 'epoch' | 'events'> {
  /** The first seq of the log; undefined if the log is empty. */
  first: number | undefined;
  /** The earliest position that was read for this page. */
  downTo: number;
}

interface LogRow {
  head: string;
  epoch: string;
  first: string | null;
  expired_to?: string | null;
  last: string | null;
  seq: string | null;
}

/**
 * Moves staged events to the log. One statement deletes them from the staging table, numbers them from the counter,
 * inserts them into the log and counts the events of each namespace, so either all of these changes happen or none.
 */
const MOVE = `
  moved AS (
    DELETE FROM event_staging WHERE id = ANY (ARRAY(SELECT id FROM event_staging ORDER BY id LIMIT $1))
    RETURNING id, type, namespace, subject, capabilities, data, at),
  counter AS (
    UPDATE event_counter SET head = head + (SELECT count(*) FROM moved)
    WHERE id = 1 AND EXISTS (SELECT FROM moved) RETURNING head),
  logged AS (
    INSERT INTO event_log (seq, id, type, namespace, subject, capabilities, data, at)
    SELECT counter.head - count(*) OVER () + row_number() OVER (ORDER BY moved.id),
           gen_random_uuid(), moved.type, moved.namespace, moved.subject, moved.capabilities, moved.data, moved.at
    FROM moved, counter),
  counted AS (
    INSERT INTO event_namespace AS e (namespace, kept)
    SELECT namespace, count(*) FROM moved GROUP BY namespace ORDER BY namespace
    ON CONFLICT (namespace) DO UPDATE SET kept = e.kept + excluded.kept)`;

/** Prepared, because under load the sequencer runs it many times per second, and planning takes as long as moving twenty events. */
const MOVE_SOME = {
  name: 'move_events',
  text: `WITH ${MOVE}
  SELECT (SELECT count(*) FROM moved) AS moved, head, pg_notify('${EVENT_CHANNEL}', head::text) FROM counter`,
};

/** The identity column numbers the rows in the order of the array. */
const STAGE = {
  name: 'stage_events',
  text: `
  INSERT INTO event_staging (type, namespace, subject, capabilities, data)
  SELECT type, namespace, subject, capabilities, data
  FROM ROWS FROM (jsonb_to_recordset($1::jsonb)
      AS (type text, namespace text, subject text, capabilities text[], data jsonb))
    WITH ORDINALITY AS event (type, namespace, subject, capabilities, data, place) ORDER BY place`,
};

/** The maximum number of events that one filtered page scans. */
export const MAX_SCANNED_EVENTS = 2_000;

/** Must select the same events as `EventCatalog.matcherOf`. */
const MATCHES = `(type = '${EXPIRED_EVENT}' OR ($4::text[] IS NULL OR type = ANY ($4))
  AND ($5::text[] IS NULL OR (CASE WHEN type = ANY ($7) THEN subject ELSE data->>'agentId' END) = ANY ($5))
  AND ($6::text[] IS NULL OR capabilities && $6))
  AND ($8::text[] IS NULL OR namespace = ANY ($8))`;
const COLUMNS = 'seq, id, type, namespace, subject, capabilities, at, data';

/**
 * Scans a bounded part of the log and returns the matching events, so that other events do not leave the database. The log has no
 * gaps, so the bound is a sequence number, and the scan ends early when it has found enough events.
 */
const SEARCH = `
  SELECT counter.head, counter.epoch, bounds.first, limits.expired_to, least(counter.head, $1::bigint + $2::bigint) AS last, event.*
  FROM event_counter AS counter
  CROSS JOIN LATERAL (SELECT min(seq) AS first FROM event_log WHERE seq > $1::bigint) AS bounds
  CROSS JOIN LATERAL (SELECT max(expired_to) AS expired_to FROM event_namespace WHERE namespace = ANY ($8)) AS limits
  LEFT JOIN LATERAL (
    SELECT ${COLUMNS} FROM event_log
    WHERE seq > $1::bigint AND seq <= $1::bigint + $2::bigint AND ${MATCHES} ORDER BY seq LIMIT $3
  ) AS event ON true
  WHERE counter.id = 1 ORDER BY event.seq`;

/** Scans a bounded part of the log before a position, the newest events first. */
const SEARCH_BACK = `
  SELECT counter.head, counter.epoch, bounds.first, greatest(least($1::bigint, counter.head + 1) - $2::bigint, 1) AS last, event.*
  FROM event_counter AS counter
  CROSS JOIN LATERAL (SELECT min(seq) AS first FROM event_log) AS bounds
  LEFT JOIN LATERAL (
    SELECT ${COLUMNS} FROM event_log
    WHERE seq < $1::bigint AND seq >= least($1::bigint, counter.head + 1) - $2::bigint AND ${MATCHES} ORDER BY seq DESC LIMIT $3
  ) AS event ON true
  WHERE counter.id = 1 ORDER BY event.seq DESC`;

/** Reads a page without a filter. The feed uses this query in every pass. */
const PAGE = {
  name: 'page_of_events',
  text: `
  SELECT counter.head, counter.epoch, event.* FROM event_counter AS counter
  LEFT JOIN LATERAL (
    SELECT seq AS first, seq AS last, ${COLUMNS} FROM event_log WHERE seq > $1 ORDER BY seq LIMIT $2
  ) AS event ON true
  WHERE counter.id = 1 ORDER BY event.seq`,
};

interface SearchQuery {
  sql: string | NamedStatement;
  values: unknown[];
}

function searchQuery(after: number, limit: number, filter: EventFilter, catalog: EventCatalog): SearchQuery {
  const { types, agentIds, capabilities, namespaces } = filter;
  const isAll = [types, agentIds, capabilities, namespaces].every((criterion) => criterion === undefined);
  if (isAll) return { sql: PAGE, values: [after, limit] };
  return { sql: SEARCH, values: searchValues(after, limit, filter, catalog) };
}

/** The parameters of `SEARCH` and `SEARCH_BACK`. */
function searchValues(from: number, limit: number, filter: EventFilter, catalog: EventCatalog): unknown[] {
  const { types, agentIds, capabilities, namespaces } = filter;
  return [
    from,
    MAX_SCANNED_EVENTS,
    limit,
    types?.flatMap((pattern) => catalog.select(pattern)) ?? null,
    agentIds ?? null,
    capabilities ?? null,
    catalog.agentTypes,
    namespaces ?? null,
  ];
}

@Injectable()
export class EventStore {
  constructor(
    private readonly db: Database,
    private readonly catalog: EventCatalog,
  ) {}

  /** Sends the events together with the COMMIT of the open transaction. The log keeps their order. */
  stage(events: readonly StagedEvent[]): void {
    if (events.some(hasNul))
      throw new Error('an event cannot contain a NUL character: Postgres cannot store it in text');
    this.db.sendWithCommit({ sql: STAGE, parameters: [JSON.stringify(events)] });
  }

  async hasStaged(): Promise<boolean> {
    const rows = await this.db.query('SELECT 1 FROM event_staging LIMIT 1');
    return rows.length > 0;
  }

  /**
   * Acquires the lock of the sequencer until the transaction ends. This needs a separate statement, so that later statements see the
   * changes of the previous holder.
   */
  async lockSequencer(): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtext($1))', [SEQUENCER_LOCK]);
  }

  /**
   * Moves up to `limit` staged events. The caller must hold the lock of the sequencer. Postgres sends one notification
   * for the whole batch when the transaction commits.
   */
  async move(limit: number): Promise<{ moved: number; head: number } | undefined> {
    const rows = await this.db.query<{ moved: string; head: string }>(MOVE_SOME, [limit]);
    return rows[0] && { moved: Number(rows[0].moved), head: Number(rows[0].head) };
  }

  /**
   * Moves all staged events and exports the snapshot of this statement, which contains all changes up to `head` and none
   * after it. Needs the lock of the sequencer. The snapshot must be imported before the transaction ends.
   */
  async moveAllAndExport(): Promise<{ position: LogPosition; exported: string }> {
    const [row] = await this.db.query<{ head: string; epoch: string; exported: string }>(
      `WITH ${MOVE}
       SELECT coalesce((SELECT head FROM counter), (SELECT head FROM event_counter WHERE id = 1)) AS head,
              (SELECT epoch FROM event_counter WHERE id = 1), pg_export_snapshot() AS exported, (SELECT pg_notify('${EVENT_CHANNEL}', head::text) FROM counter)`,
      [null],
    );
    return { position: { seq: Number(row?.head), epoch: row?.epoch ?? '' }, exported: row?.exported ?? '' };
  }

  /** Returns matching events after `after` together with the head, both from one database snapshot. */
  async search(after: number, limit: number, filter: EventFilter, pool?: PoolName): Promise<LogPage> {
    const { sql, values } = searchQuery(after, limit, filter, this.catalog);
    const rows = await this.db.query<LogRow>(sql, values, pool);
    const events = rows.filter((row) => row.seq !== null).map(toEvent);
    const [row] = rows;
    if (!row) throw new Error('the event log has no counter: the migrations did not run');
    const last = rows.at(-1)?.last ?? null;
    const isFull = events.length === limit;
    const upTo = (isFull ? events.at(-1)?.seq : undefined) ?? (last === null ? after : Number(last));
    const first = row.first === null ? undefined : Number(row.first);
    return { head: Number(row.head), epoch: row.epoch, first, expiredTo: Number(row.expired_to ?? 0), upTo, events };
  }

  /**
   * Returns matching events before `before`, the newest first. `downTo` is the earliest position that was read: it is the `before` of the
   * next page.
   */
  async searchBack(before: number, limit: number, filter: EventFilter): Promise<EarlierPage> {
    const rows = await this.db.query<LogRow>(SEARCH_BACK, searchValues(before, limit, filter, this.catalog));
    const [row] = rows;
    if (!row) throw new Error('the event log has no counter: the migrations did not run');
    const events = rows.filter(({ seq }) => seq !== null).map(toEvent);
    const downTo = (events.length === limit ? events.at(-1)?.seq : undefined) ?? Number(row.last);
    const first = row.first === null ? undefined : Number(row.first);
    return { head: Number(row.head), epoch: row.epoch, first, downTo, events };
  }

  async end(): Promise<LogPosition> {
    const rows = await this.db.query<{ head: string; epoch: string }>(
      'SELECT head, epoch FROM event_counter WHERE id = 1',
    );
    return { seq: Number(rows[0]?.head), epoch: rows[0]?.epoch ?? '' };
  }
}

function hasNul({ type, subject, capabilities }: StagedEvent): boolean {
  return [type, subject, ...capabilities].some((text) => text.includes('\0'));
}

function toEvent(row: LogRow): RegistryEvent {
  const { head: _head, epoch: _epoch, first: _first, expired_to: _expiredTo, last: _last, ...event } = row;
  return { ...event, seq: Number(event.seq) } as RegistryEvent;
}

interface OutboxStatus {
  /** Events that wait for the sequencer, counted up to a limit. */
  staged: number;
  /** How long the oldest staged event has waited. */
  oldestMs: number;
  /** The newest seq of the log. */
  head: number;
}

const MAX_COUNTED = 100_000;

/** The progress of the event log. */
@Injectable()
export class EventStatus {
  constructor(private readonly db: Database) {}

  async read(): Promise<OutboxStatus> {
    const [row] = await this.db.query<{ staged: number; oldest: number | null; head: string }>(
      `SELECT (SELECT count(*)::int FROM (SELECT 1 FROM event_staging LIMIT ${MAX_COUNTED}) AS counted) AS staged,
         (SELECT (extract(epoch FROM clock_timestamp() - min(at)) * 1000)::float8 FROM event_staging) AS oldest,
         (SELECT head FROM event_counter) AS head`,
      [],
      'reserved',
    );
    return { staged: row?.staged ?? 0, oldestMs: Math.max(0, row?.oldest ?? 0), head: Number(row?.head ?? 0) };
  }
}
