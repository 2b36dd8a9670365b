import { Inject, Injectable } from '@nestjs/common';
import { Database, type WorkClaim } from '#rollcall/platform';
import { PluginNames } from '../../definitions/plugin.names.js';
import { HostedAgents } from '../../lifecycle/hosted.agents.js';
import { LIFECYCLE_OPTIONS, type LifecycleOptions } from '../../lifecycle/lifecycle.options.js';
import { type CapacityUse, countByAgent, fairOrder, type Turns, type WaitingRun } from '../execution/fair.order.js';
import { RunEvents } from '../journal/run.events.js';
import type { Run } from '../run.js';
import { RUN_COLUMNS, type RunRow, toRun } from './run.row.js';

/** The right to execute a run and its descendants. */
export interface RunClaim extends WorkClaim {
  readonly run: Run;
}

/** The lease with which a run is stored, if this replica executes it at once. */
export interface RunLease {
  readonly owner: string;
  readonly token: string;
  readonly ms: number;
}

/** A run that this replica executes, or is about to execute. */
export type HeldRun = CapacityUse & { readonly id: string };

interface ClaimRequest {
  /** Identifies the worker. A worker may claim its own runs again before their leases end. */
  readonly owner: string;
  /** The runs that this replica holds now. It is called again for each statement, because runs start in the meantime. */
  readonly held: () => readonly HeldRun[];
  readonly turns: Pick<Turns, 'of'>;
  /** Reserves up to this number of slots for runs that are about to be claimed. Returns how many are free. */
  readonly reserve: (runs: number) => number;
  readonly leaseMs: number;
  /** How many runs the worker can execute in addition. */
  readonly limit: number;
  readonly limitPerAgent: number;
}

/** `isLast`: it is the last run of its caller and agent that was read, and there may be more. */
type ReadRun = WaitingRun & { readonly isLast: boolean };

interface ClaimResult {
  readonly claims: RunClaim[];
  /** Whether there are more runs to claim. */
  readonly hasMore: boolean;
}

/** The leases of runs. Only roots are claimed. */
@Injectable()
export class RunClaimStore {
  constructor(
    private readonly db: Database,
    private readonly events: RunEvents,
    private readonly hosted: HostedAgents,
    private readonly plugins: PluginNames,
    @Inject(LIFECYCLE_OPTIONS) private readonly lifecycle: LifecycleOptions,
  ) {}

  /**
   * Claims runs without a valid lease, in fair order (S-5). The event of a run that begins is committed together with its claim. A
   * run whose agent lives on another replica is claimed only if that replica has not claimed it within the time of a lease, and if
   * this replica can build the agent. A run that needs a plugin is claimed only by a replica that has it.
   */
  async claim(request: ClaimRequest): Promise<ClaimResult> {
    const { owner, held, turns, reserve, leaseMs, limit, limitPerAgent } = request;
    return await this.db.transaction(async () => {
      const waiting = await this.waiting(request); // shares the round trip of BEGIN
      const running = held();
      const ids = new Set(running.map(({ id }) => id));
      const order = fairOrder(
        waiting.filter(({ id }) => !ids.has(id)),
        running,
        { most: limit * CHOICE, perAgent: limitPerAgent },
        turns,
      );
      const slots = reserve(order.length);
      if (slots === 0) return { claims: [], hasMore: order.length > 0 };
      const rows = await this.db.query<RunRow & { token: string }>({ name: 'runs-claim', text: CLAIM }, [
        owner,
        leaseMs,
        this.hosted.replicaId,
        order.map(({ id }) => id),
        slots,
      ]);
      const claims = rows.map((row) => ({ id: row.id, token: row.token, run: toRun(row) }));
      const runs = claims.map(({ run }) => run);
      this.events.continued(runs.filter(({ attempts }) => attempts > 1));
      await this.events.started(runs.filter(({ attempts }) => attempts === 1));
      return { claims, hasMore: claims.length < order.length || waiting.some(({ isLast }) => isLast) };
    });
  }

  /** The oldest runs of each caller and agent that this replica could claim. Agents at their limit are left out. */
  private async waiting({ owner, held, leaseMs, limit, limitPerAgent }: ClaimRequest): Promise<ReadRun[]> {
    const running = held();
    const full = [...countByAgent(running)].filter(([, runs]) => runs >= limitPerAgent).map(([agent]) => agent);
    return await this.db.query<ReadRun>({ name: 'runs-waiting', text: WAITING }, [
      owner,
      leaseMs,
      this.hosted.replicaId,
      running.map(({ id }) => id),
      full,
      this.lifecycle.beatEveryMs * MISSED_BEATS,
      limit * CHOICE,
      Math.max(MAX_WAITING, limit * CHOICE),
      this.plugins.all,
    ]);
  }

  /** Whether this replica may execute a run at once: it has the plugins, and need not wait for the replica that hosts the agent. */
  mayExecute(host: string | null, plugins: readonly string[] = []): boolean {
    return (host === null || host === this.hosted.replicaId) && this.plugins.has(plugins);
  }

  async renew(held: readonly RunClaim[], leaseMs: number): Promise<Set<string>> {
    const rows = await this.db.query<{ id: string }>(
      `WITH held AS (${LOCK})
       UPDATE run SET lease_until = clock_timestamp() + $3 * interval '1 millisecond' FROM held
       WHERE run.id = held.id RETURNING run.id`,
      [held.map(({ id }) => id), held.map(({ token }) => token), leaseMs],
    );
    return new Set(rows.map(({ id }) => id));
  }

  async release(held: readonly RunClaim[]): Promise<void> {
    await this.db.query(
      `WITH held AS (${LOCK})
       UPDATE run SET lease_owner = NULL, lease_token = NULL, lease_until = NULL, host = NULL FROM held WHERE run.id = held.id`,
      [held.map(({ id }) => id), held.map(({ token }) => token)],
    );
  }
}

const LOCK = 'SELECT id FROM run WHERE id = ANY ($1) AND lease_token = ANY ($2) ORDER BY id FOR NO KEY UPDATE';

/** A replica that has missed this many heartbeats of an agent does not count as alive. */
const MISSED_BEATS = 3;
/** A replica chooses among more runs than it claims, because other replicas may claim some of them at the same time. */
const CHOICE = 2;
/** About how many waiting runs one claim reads. With many callers, it reads fewer runs of each. */
const MAX_WAITING = 1_024;

const OPEN = `state IN ('queued', 'running') AND parent_id IS NULL`;

/**
 * A run of the conversation that comes first and is not finished. Runs of a conversation commit in the order of their `seq`, and a finished
 * run stays finished, so an old snapshot can only delay a run and never lets it overtake (S2.10).
 */
const EARLIER_IN_CONVERSATION = `SELECT FROM run AS earlier WHERE earlier.namespace = run.namespace AND earlier.created_by = run.created_by
  AND earlier.conversation_id = run.conversation_id AND earlier.finished_at IS NULL AND earlier.seq < run.seq`;

/**
 * The transaction began before the replica listed the runs that it holds, so a run of this replica that is not listed and began
 * later is just being started.
 */
const CLAIMABLE = `(lease_until IS NULL OR lease_until < clock_timestamp() OR (lease_owner = $1::uuid AND started_at < now()))
  AND (host IS NULL OR host = $3::uuid OR queued_at < clock_timestamp() - $2 * interval '1 millisecond')
  AND (run.conversation_id IS NULL OR NOT EXISTS (${EARLIER_IN_CONVERSATION}))`;

/** The agent of the run, if another replica hosts it and only that replica can call it, because it is not named like its definition. */
const ELSEWHERE = `SELECT FROM runtime_agent AS h JOIN agent_lease AS l USING (agent_id, generation)
  WHERE h.namespace = share.namespace AND h.name = share.agent_id AND h.replica_id <> $3::uuid::text
    AND h.definition IS DISTINCT FROM h.name AND l.last_beat_at > clock_timestamp() - $6 * interval '1 millisecond'`;

/**
 * The recursive part jumps through the index from one caller and agent to the next, so the cost depends on their number and not on
 * the length of the queue.
 */
const WAITING = `
  WITH RECURSIVE share AS (
    (SELECT namespace, created_by, agent_id FROM run WHERE ${OPEN} ORDER BY namespace, created_by, agent_id LIMIT 1)
    UNION ALL
    SELECT next.* FROM share CROSS JOIN LATERAL (SELECT namespace, created_by, agent_id FROM run WHERE ${OPEN}
      AND (namespace, created_by, agent_id) > (share.namespace, share.created_by, share.agent_id)
      ORDER BY namespace, created_by, agent_id LIMIT 1) AS next),
  allowed AS MATERIALIZED (SELECT share.*, EXISTS (${ELSEWHERE}) AS is_elsewhere,
      greatest(1, least($7::bigint, $8::bigint / count(*) OVER ())) AS most
    FROM share WHERE namespace || '/' || agent_id <> ALL ($5::text[]))
  SELECT waiting.*, row_number() OVER (PARTITION BY allowed.namespace, created_by, agent_id) = most AS "isLast"
  FROM allowed CROSS JOIN LATERAL (
    SELECT id, seq::float8 AS seq, run.namespace, run.created_by AS "createdBy", run.agent_id AS "agentId" FROM run
    WHERE ${OPEN} AND run.namespace = allowed.namespace AND run.created_by = allowed.created_by AND run.agent_id = allowed.agent_id
      AND ${CLAIMABLE} AND plugins <@ $9::text[] AND id <> ALL ($4::text[]) AND (definition = run.agent_id OR NOT is_elsewhere)
    ORDER BY run.seq LIMIT most) AS waiting`;

/**
 * Locks the first runs of the list that are still claimable. A run whose lease ended was lost by a replica: the steps of its tree
 * show whether it lost a lease in the same step before. The steps that announce a call do not count, because each attempt repeats them.
 */
const CLAIM = `
  WITH chosen AS MATERIALIZED (SELECT run.id FROM run JOIN unnest($4::text[]) WITH ORDINALITY AS given (id, place) ON run.id = given.id
      WHERE ${OPEN} AND ${CLAIMABLE} ORDER BY place LIMIT $5 FOR NO KEY UPDATE OF run SKIP LOCKED),
    lost AS MATERIALIZED (SELECT run.id, (SELECT sum(made.steps)::integer FROM run AS one CROSS JOIN LATERAL (SELECT count(*) AS steps
          FROM run_step WHERE run_id = one.id AND step ->> 'type' NOT LIKE '%-called') AS made WHERE one.root_id = run.id) AS steps
      FROM run JOIN chosen ON run.id = chosen.id WHERE lease_until IS NOT NULL AND lease_owner <> $1::uuid)
  UPDATE run AS r SET state = 'running', state_at = CASE WHEN state = 'running' THEN state_at ELSE clock_timestamp() END,
    attempts = attempts + 1, crashes = crashes + (lost.id IS NOT NULL)::integer,
    crashes_in_step = CASE WHEN lost.id IS NULL THEN crashes_in_step WHEN crashed_after = lost.steps THEN crashes_in_step + 1 ELSE 1 END,
    crashed_after = coalesce(lost.steps, crashed_after), started_at = coalesce(started_at, clock_timestamp()),
    lease_owner = $1, lease_token = gen_random_uuid(), lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM chosen LEFT JOIN lost ON lost.id = chosen.id WHERE r.id = chosen.id
  RETURNING ${RUN_COLUMNS}, r.lease_token AS token`;
