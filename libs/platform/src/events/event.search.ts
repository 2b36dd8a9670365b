import type { NamedStatement } from '../postgres/statement.js';
import type { EventCatalog, EventFilter } from './event.catalog.js';
import { EXPIRED_EVENT } from './expired.event.js';

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

export interface SearchQuery {
  sql: string | NamedStatement;
  values: unknown[];
}

export function searchQuery(after: number, limit: number, filter: EventFilter, catalog: EventCatalog): SearchQuery {
  const { types, agentIds, capabilities, namespaces } = filter;
  const isAll = [types, agentIds, capabilities, namespaces].every((criterion) => criterion === undefined);
  if (isAll) return { sql: PAGE, values: [after, limit] };
  const values = [
    after,
    MAX_SCANNED_EVENTS,
    limit,
    types?.flatMap((pattern) => catalog.select(pattern)) ?? null,
    agentIds ?? null,
    capabilities ?? null,
    catalog.agentTypes,
    namespaces ?? null,
  ];
  return { sql: SEARCH, values };
}
