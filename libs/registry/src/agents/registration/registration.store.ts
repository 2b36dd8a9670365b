import { Injectable } from '@nestjs/common';
import { Database, namespaceOf } from '#rollcall/platform';
import type { BudgetRow } from '../../budgets/store/budget.store.js';
import { CLOSED_CIRCUIT } from '../../circuit/circuit.breaker.js';
import type { DesiredState } from '../agent.record.js';
import type { AgentRow } from '../agent.store.js';
import type { Accepted, Joining, NamespaceCount } from './registration.batch.js';

/** A registration that is written. */
export interface WrittenRegistration {
  agentId: string;
  generation: string;
  /** Also the time of the first heartbeat and the start of the budget window. */
  registeredAt: Date;
  desiredState: DesiredState;
  /** The budget that the registration opened; null when the agent has one already. */
  budgetId: string | null;
}

/** The row of an agentId that was not registered before, as a read would return it. */
export function newAgentRow({ joining, owner, flap }: Accepted, written: WrittenRegistration): AgentRow {
  const { agentId, tokenHash, facts } = joining;
  const { budget, ...declaration } = facts;
  return {
    ...declaration,
    agentId,
    generation: written.generation,
    revision: '1',
    tokenHash,
    budgetTotal: budget.totalTokens === null ? null : String(budget.totalTokens),
    budgetUsed: String(budget.usedTokens),
    budgetSource: budget.source,
    circuit: CLOSED_CIRCUIT,
    circuitVersion: '0',
    flap,
    registeredAt: written.registeredAt,
    registeredBy: owner,
    observedMs: null,
    lastTaskAt: null,
    leftAt: null,
    leaveReason: null,
    desiredState: written.desiredState,
    lastBeatAt: written.registeredAt,
    suspect: false,
    inFlight: 0,
    loadRatio: null,
    reportedMs: null,
    usedTokens: null,
    budgets: written.budgetId === null ? [] : [openedBudget(joining, written, written.budgetId)],
  };
}

/** Returns the row of the budget that `RegistrationStore.write` creates. */
function openedBudget({ facts }: Joining, { agentId, registeredAt }: WrittenRegistration, id: string): BudgetRow {
  const { totalTokens, usedTokens, source } = facts.budget;
  return {
    id,
    kind: 'agent',
    subject: agentId,
    window: 'total',
    timeZone: 'UTC',
    path: [],
    limitTokens: totalTokens === null ? null : String(totalTokens),
    limitMicroUsd: null,
    lowTokens: null,
    lowMicroUsd: null,
    usedTokens: String(usedTokens),
    usedMicroUsd: '0',
    ownTokens: String(usedTokens),
    ownMicroUsd: '0',
    reservedTokens: '0',
    reservedMicroUsd: '0',
    reportedTokens: '0',
    reportOffset: '0',
    windowStart: registeredAt,
    windowEnd: null,
    source,
    declared: true,
    version: '1',
  };
}

/** The SQL of registrations. */
@Injectable()
export class RegistrationStore {
  constructor(private readonly db: Database) {}

  /** Locks the principals until the transaction ends, so that concurrent registrations of one principal are counted exactly. */
  async lockOwners(owners: readonly string[]): Promise<void> {
    if (owners.length === 0) return;
    await this.db.query(
      `SELECT pg_advisory_xact_lock(hashtextextended('rollcall.agents:' || owner, 0))
       FROM (SELECT owner FROM unnest($1::text[]) AS owner ORDER BY owner) AS sorted`,
      [owners],
    );
  }

  /** Counts the live agents of each owner, except these agentIds. Reads at most `most` rows of each owner. */
  async countOwned(
    owners: readonly string[],
    except: readonly string[],
    most: number,
  ): Promise<Record<string, number>> {
    if (owners.length === 0) return {};
    const rows = await this.db.query<{ owner: string; count: number }>(
      `SELECT owner, (SELECT count(*)::int FROM (SELECT FROM agent a
         WHERE a.registered_by = owner AND a.left_at IS NULL AND a.agent_id <> ALL ($2) LIMIT $3) AS counted) AS count
       FROM unnest($1::text[]) AS owner`,
      [owners, except, most],
    );
    return Object.fromEntries(rows.map(({ owner, count }) => [owner, count]));
  }

  /**
   * Returns the namespaces that exist, and locks them, so that they cannot be deleted before the transaction ends. If a namespace
   * has a limit, its live agents are counted, except these agentIds, and other registrations in the namespace wait for the end of the
   * transaction.
   */
  async lockNamespaces(names: readonly string[], except: readonly string[]): Promise<NamespaceCount[]> {
    if (names.length === 0) return [];
    const [, , counts] = await Promise.all([
      this.db.query('SELECT FROM namespace WHERE name = ANY ($1) AND deleted_at IS NULL ORDER BY name FOR KEY SHARE', [
        names,
      ]),
      this.db.query(
        `SELECT pg_advisory_xact_lock(hashtextextended('rollcall.agents.namespace:' || name, 0))
         FROM (SELECT name FROM namespace WHERE name = ANY ($1) AND ${LIMIT} > 0 ORDER BY name) AS limited`,
        [names],
      ),
      this.db.query<NamespaceCount>(
        `SELECT name, ${LIMIT} AS limit, (SELECT count(*)::int FROM (SELECT FROM agent a WHERE a.namespace = n.name
           AND a.left_at IS NULL AND a.agent_id <> ALL ($2) LIMIT ${LIMIT}) AS counted) AS agents
         FROM namespace n WHERE n.name = ANY ($1) AND deleted_at IS NULL`,
        [names, except],
      ),
    ]);
    return counts;
  }

  /**
   * Writes agents, circuits and leases, and opens the budgets of all agents that are not in `withBudget`. An agentId that is new here but
   * was registered by another transaction in the meantime is not written and not in the result.
   */
  async write(accepted: readonly Accepted[], withBudget: ReadonlySet<string>): Promise<WrittenRegistration[]> {
    const items = accepted.map((one) => toItem(one, !withBudget.has(one.joining.agentId)));
    return await this.db.query<WrittenRegistration>(WRITE, [JSON.stringify(items), CLOSED_CIRCUIT]);
  }
}

/** The limit of live agents of a namespace. */
const LIMIT = `coalesce((limits->>'agents')::int, 0)`;

const FACTS = `token_hash, name, endpoint, agent_card, capabilities, sandbox_level, provider, cost_model, labels, version,
  definition, capacity, declared_ms, typical_tokens, budget_total, budget_used, budget_source, flap, registered_by, capability_keys, work, idempotent`;

/**
 * The start of a budget's window is truncated to milliseconds, because the ledger compares it with JavaScript times. Rows that
 * exist are looked up by key (ON CONFLICT, an array of agentIds, a subquery for each item) and not by a join: Postgres plans such a
 * join as a scan of the whole table, which costs every registration more as the fleet grows. Only the first registration of an agentId
 * creates a circuit: an agent that fails does not become routable because it registers again.
 */
const WRITE = {
  name: 'write_registrations',
  text: `
  WITH item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset($1::jsonb) AS item (agent_id text, namespace text, is_new boolean, opens_budget boolean, token_hash text, name text,
      endpoint text, agent_card jsonb, capabilities text[], sandbox_level int, provider jsonb, cost_model jsonb, labels jsonb,
      version text, definition text, capacity int, declared_ms int, typical_tokens int, budget_total bigint, budget_used bigint,
      budget_source text, flap jsonb, registered_by text, capability_keys text[], work text,
      idempotent boolean)
    ORDER BY agent_id COLLATE "C"
  ), inserted AS (
    INSERT INTO agent (agent_id, namespace, generation, revision, registered_at, ${FACTS})
    SELECT agent_id, namespace, (SELECT generation + 1 FROM agent_forgotten), 1, clock_timestamp(), ${FACTS}
    FROM item WHERE is_new ON CONFLICT (agent_id) DO NOTHING RETURNING agent_id, generation, registered_at
  ), renewed AS (
    UPDATE agent a SET generation = a.generation + 1, revision = 1, registered_at = clock_timestamp(), left_at = NULL,
      leave_reason = NULL, token_hash = i.token_hash, name = i.name, endpoint = i.endpoint, agent_card = i.agent_card,
      capabilities = i.capabilities, sandbox_level = i.sandbox_level, provider = i.provider, cost_model = i.cost_model,
      labels = i.labels, version = i.version, definition = i.definition, capacity = i.capacity, declared_ms = i.declared_ms,
      typical_tokens = i.typical_tokens, budget_total = i.budget_total, budget_used = greatest(a.budget_used, i.budget_used), budget_source = i.budget_source,
      flap = i.flap, registered_by = i.registered_by, capability_keys = i.capability_keys, work = i.work,
      idempotent = i.idempotent
    FROM item i WHERE a.agent_id = ANY (ARRAY(SELECT agent_id FROM item WHERE NOT is_new)) AND a.agent_id = i.agent_id
    RETURNING a.agent_id, a.generation, a.registered_at
  ), joined AS (
    SELECT * FROM inserted UNION ALL SELECT * FROM renewed
  ), wired AS (
    INSERT INTO agent_circuit (agent_id, state) SELECT agent_id, $2 FROM inserted
  ), leased AS (
    INSERT INTO agent_lease (agent_id, generation, token_hash, last_beat_at, forgiven_ms)
    SELECT agent_id, generation, token_hash, registered_at, (SELECT forgiven_ms FROM registry_protection)
    FROM joined JOIN item USING (agent_id) ORDER BY agent_id COLLATE "C"
    ON CONFLICT (agent_id) DO UPDATE SET generation = excluded.generation, token_hash = excluded.token_hash,
      last_beat_at = excluded.last_beat_at, forgiven_ms = excluded.forgiven_ms, suspect = false, in_flight = 0,
      load_ratio = NULL, observed_ms = NULL
  ), opened AS (
    INSERT INTO budget (kind, subject, window_kind, time_zone, path, limit_tokens, used_tokens, used_micro_usd, own_tokens,
      own_micro_usd, window_start, source, declared, created_by, namespace)
    SELECT 'agent', agent_id, 'total', 'UTC', '{}', budget_total, budget_used, 0, budget_used, 0,
      date_trunc('milliseconds', registered_at), budget_source, true, registered_by, namespace
    FROM joined JOIN item USING (agent_id) WHERE opens_budget
    ON CONFLICT (kind, subject, window_kind) DO NOTHING RETURNING *
  ), entered AS (
    INSERT INTO budget_entry (budget_id, kind, tokens, micro_usd, own, limit_changed, limit_tokens, window_start, marks, by)
    SELECT id, 'opened', used_tokens, 0, true, true, limit_tokens, window_start, '{}', created_by FROM opened
  )
  SELECT joined.agent_id AS "agentId", joined.generation, joined.registered_at AS "registeredAt", opened.id AS "budgetId",
    coalesce((SELECT i.desired_state FROM agent_intent i WHERE i.agent_id = joined.agent_id), 'active') AS "desiredState"
  FROM joined LEFT JOIN opened ON opened.subject = joined.agent_id`,
};

function toItem({ joining, before, owner, flap }: Accepted, opensBudget: boolean): Record<string, unknown> {
  const { agentId, tokenHash, facts, capabilityKeys } = joining;
  return {
    agent_id: agentId,
    namespace: namespaceOf(agentId),
    is_new: before === undefined,
    opens_budget: opensBudget,
    token_hash: tokenHash,
    name: facts.name,
    endpoint: facts.endpoint,
    agent_card: facts.agentCard,
    capabilities: facts.capabilities,
    sandbox_level: facts.sandboxLevel,
    provider: facts.provider,
    cost_model: facts.costModel,
    labels: facts.labels,
    version: facts.version,
    definition: facts.definition,
    capacity: facts.capacity,
    declared_ms: facts.declaredMs,
    typical_tokens: facts.typicalTokens,
    budget_total: facts.budget.totalTokens,
    budget_used: facts.budget.usedTokens,
    budget_source: facts.budget.source,
    flap,
    registered_by: owner,
    capability_keys: capabilityKeys,
    work: facts.work,
    idempotent: facts.idempotent,
  };
}
