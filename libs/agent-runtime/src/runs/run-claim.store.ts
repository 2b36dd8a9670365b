import { Inject, Injectable } from '@nestjs/common';
import { Database, type WorkClaim } from '#rollcall/platform';
import { HostedAgents } from '../lifecycle/hosted.agents.js';
import { LIFECYCLE_OPTIONS, type LifecycleOptions } from '../lifecycle/lifecycle.options.js';
import { RunEvents } from './run.events.js';
import type { Run } from './run.js';
import { RUN_COLUMNS, type RunRow, toRun } from './run.row.js';

/** The right to execute a run and its descendants. */
export interface RunClaim extends WorkClaim {
  readonly run: Run;
}

export interface ClaimRequest {
  /** Identifies the worker. A worker may claim its own runs again before their leases end. */
  readonly owner: string;
  readonly held: readonly RunClaim[];
  readonly leaseMs: number;
  readonly limit: number;
  readonly limitPerAgent: number;
}

/** The leases of runs. Only roots are claimed. */
@Injectable()
export class RunClaimStore {
  constructor(
    private readonly db: Database,
    private readonly events: RunEvents,
    private readonly hosted: HostedAgents,
    @Inject(LIFECYCLE_OPTIONS) private readonly lifecycle: LifecycleOptions,
  ) {}

  /**
   * Claims runs without a valid lease, the oldest first. The event of a run that begins is committed together with its claim. A run
   * whose agent lives on another replica is claimed only if that replica has not claimed it within the time of a lease, and if this
   * replica can build the agent.
   */
  async claim({ owner, held, leaseMs, limit, limitPerAgent }: ClaimRequest): Promise<RunClaim[]> {
    const running = countByAgent(held);
    return await this.db.transaction(async () => {
      const rows = await this.db.query<RunRow & { token: string }>({ name: 'runs-claim', text: CLAIM }, [
        owner,
        leaseMs,
        held.map(({ id }) => id),
        limit,
        limitPerAgent,
        [...running.keys()],
        [...running.values()],
        this.hosted.replicaId,
        this.lifecycle.beatEveryMs * MISSED_BEATS,
      ]);
      const claims = rows.map((row) => ({ id: row.id, token: row.token, run: toRun(row) }));
      const runs = claims.map(({ run }) => run);
      this.events.continued(runs.filter(({ attempts }) => attempts > 1));
      await this.events.started(runs.filter(({ attempts }) => attempts === 1));
      return claims;
    });
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

/** The agent of the run, if another replica hosts it and only that replica can call it, because it is not named like its definition. */
const ELSEWHERE = `SELECT FROM runtime_agent AS h JOIN agent_lease AS l USING (agent_id, generation)
  WHERE h.namespace = run.namespace AND h.name = run.agent_id AND h.replica_id <> $8::text
    AND h.definition IS DISTINCT FROM h.name AND l.last_beat_at > clock_timestamp() - $9 * interval '1 millisecond'`;

/** An agent at its limit is left out, so that its queue does not hide the runs of other agents. */
const CLAIM = `
  WITH busy AS (SELECT * FROM unnest($6::text[], $7::integer[]) AS busy (agent, running)),
    candidate AS MATERIALIZED (SELECT id, seq, namespace || '/' || agent_id AS agent FROM run
      WHERE state IN ('queued', 'running') AND parent_id IS NULL AND id <> ALL ($3)
        AND (lease_until IS NULL OR lease_until < clock_timestamp() OR lease_owner = $1)
        AND (host IS NULL OR host = $8 OR queued_at < clock_timestamp() - $2 * interval '1 millisecond')
        AND (definition = agent_id OR NOT EXISTS (${ELSEWHERE}))
        AND namespace || '/' || agent_id NOT IN (SELECT agent FROM busy WHERE running >= $5)
      ORDER BY seq LIMIT $4 FOR NO KEY UPDATE SKIP LOCKED),
    ranked AS (SELECT candidate.*, row_number() OVER (PARTITION BY agent ORDER BY seq) + coalesce(running, 0) AS place
      FROM candidate LEFT JOIN busy USING (agent))
  UPDATE run AS r SET state = 'running', state_at = CASE WHEN state = 'running' THEN state_at ELSE clock_timestamp() END,
    attempts = attempts + 1,
    crashes = crashes + (lease_until IS NOT NULL AND lease_owner <> $1)::integer, started_at = coalesce(started_at, clock_timestamp()),
    lease_owner = $1, lease_token = gen_random_uuid(), lease_until = clock_timestamp() + $2 * interval '1 millisecond'
  FROM ranked WHERE r.id = ranked.id AND place <= $5
  RETURNING ${RUN_COLUMNS}, r.lease_token AS token`;

/** The number of held runs of each agent, by the qualified id of the agent. */
export function countByAgent(held: readonly RunClaim[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { run } of held) {
    const agent = `${run.namespace}/${run.agentId}`;
    counts.set(agent, (counts.get(agent) ?? 0) + 1);
  }
  return counts;
}
