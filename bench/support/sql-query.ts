import type { BenchQuery } from './query.samples.js';

export interface PreparedQuery {
  name: string;
  text: string;
  values: unknown[];
}

const LOAD = 'coalesce(l.load_ratio, l.in_flight::float8 / greatest(1, a.capacity))';
const ROUGH_LOAD = `floor(${LOAD} * 10)`;
const AGENT_ID = 'a.agent_id COLLATE "C"';
const STANDING = `CASE WHEN l.suspect THEN 2 WHEN ${LOAD} >= 1 THEN 1 ELSE 0 END`;

/** The sort orders of Rollcall's strategies. `$1` is the agent after which round-robin starts. */
const ORDERS: Record<string, string> = {
  cheapest: `(a.cost_model ->> 'usdPer1kTokens')::float8, ${ROUGH_LOAD}`,
  fastest: `coalesce(c.observed_ms, l.observed_ms, a.declared_ms), ${ROUGH_LOAD}`,
  'least-loaded': `${LOAD}, l.in_flight`,
  'round-robin': `${AGENT_ID} <= $1`,
};

const SELECT = `SELECT a.agent_id AS "agentId", a.name, a.endpoint, a.capabilities, a.sandbox_level AS "sandboxLevel",
    a.provider, a.cost_model AS "costModel", a.labels, a.version, c.state AS circuit, a.budget_total AS "totalTokens",
    a.budget_used AS "usedTokens", a.registered_at AS "registeredAt", a.generation, coalesce(l.observed_ms, a.declared_ms) AS "declaredMs",
    c.observed_ms AS "observedMs", l.last_beat_at AS "lastHeartbeat", l.in_flight AS "inFlight", ${LOAD} AS ratio
  FROM agent a JOIN agent_lease l ON l.agent_id = a.agent_id AND l.generation = a.generation
  JOIN agent_circuit c ON c.agent_id = a.agent_id
  LEFT JOIN agent_intent i ON i.agent_id = a.agent_id
  WHERE a.left_at IS NULL AND c.state ->> 'phase' = 'closed' AND coalesce(i.desired_state, 'active') = 'active'
    AND (a.budget_total IS NULL OR a.budget_total > a.budget_used)`;

/** One prepared statement for each combination of conditions and strategy, so that each combination has its own plan. */
export function prepareQuery(query: BenchQuery, startAfter: string): PreparedQuery {
  const { prefer, limit, filter = {} } = query;
  const values: unknown[] = prefer === 'round-robin' ? [startAfter] : [];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  const conditions: string[] = [];
  const add = (value: unknown, condition: (parameter: string) => string): void => {
    if (value !== undefined) conditions.push(condition(parameter(value)));
  };
  add(query.capabilities, (all) => `a.capability_keys @> ${all}::text[]`);
  add(query.any, (any) => `a.capability_keys && ${any}::text[]`);
  add(query.none, (none) => `NOT a.capability_keys && ${none}::text[]`);
  add(filter.labels, (labels) => `a.labels @> ${labels}::jsonb`);
  add(filter.sandboxLevel?.min, (min) => `a.sandbox_level >= ${min}`);
  const order = `ORDER BY ${STANDING}, ${ORDERS[prefer]}, ${AGENT_ID} LIMIT ${parameter(limit)}`;
  const text = [SELECT, ...conditions.map((condition) => `AND ${condition}`), order].join('\n');
  return { name: nameOf(query), text, values };
}

function nameOf({ prefer, capabilities, any, none, filter = {} }: BenchQuery): string {
  const parts = [capabilities, any, none, filter.labels, filter.sandboxLevel];
  return prefer + parts.map((part) => (part === undefined ? '0' : '1')).join('');
}
