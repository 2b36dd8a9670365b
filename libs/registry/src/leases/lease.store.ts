import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { LeaseCredential } from '../agents/agent.credential.js';
import type { AgentGeneration } from '../agents/agent.events.js';
import type { LeaveReason } from '../agents/agent.record.js';
import type { LeftAgent } from '../agents/agent.store.js';
import { type LeasePolicy, leaseTtlMs, suspectAfterMs } from './lease.policy.js';
import type { Gap } from './protection.state.js';

/** A heartbeat and the values that the agent reports. If a value is missing, the last reported value stays. */
export interface Heartbeat extends LeaseCredential {
  inFlight?: number;
  loadRatio?: number;
  /** The latency that the agent reports. */
  reportedMs?: number;
  usedTokens?: number;
}

/** The agents whose leases a sweep reads: the only ones that may be silent. undefined: all agents. */
export type Among = readonly string[] | undefined;

export interface FleetFacts {
  now: number;
  fleet: number;
  suspect: number;
  expired: number;
  /** Silent agents that are not marked as suspect yet. */
  toSuspect: number;
  /** Agents that are marked as suspect but send heartbeats again. */
  beatingAgain: number;
  /** The longest silence of any agent in milliseconds, without the time that does not count. */
  longestSilentMs: number;
}

export interface RenewedLeases {
  /** The time of all heartbeats, in milliseconds. */
  beatAt: number;
  /** The indexes of the accepted heartbeats; null if all were accepted, which is the usual case. */
  counted: number[] | null;
  /** The indexes of the heartbeats whose agent sent its previous heartbeat to another replica. */
  moved: number[];
}

/** The state of an agent whose heartbeat matched no lease. */
export interface LeaseFacts {
  agentId: string;
  generation: string;
  tokenHash: string;
  leaveReason: LeaveReason | null;
  live: boolean;
}

/**
 * SQL for the time since the last heartbeat that does not count as silence, because the registry could not receive heartbeats. If the
 * agent sent a heartbeat during such a gap, only the part after the heartbeat is excluded: the second argument of `least` ensures this.
 */
const FORGIVEN_MS = `least(
  (SELECT forgiven_ms FROM registry_protection) - l.forgiven_ms,
  greatest(0, date_part('epoch', (SELECT forgiven_until FROM registry_protection) - l.last_beat_at) * 1000))`;

/**
 * SQL for the time since the last heartbeat, in milliseconds. `date_part` is faster than `extract`, which computes with numeric
 * values; each sweep evaluates this for the whole fleet.
 */
const SINCE_BEAT_MS = `(date_part('epoch', clock_timestamp() - l.last_beat_at) * 1000)`;
const SILENT_MS = `(${SINCE_BEAT_MS} - ${FORGIVEN_MS})`;

const BEAT_COLUMNS = `agent_id AS "agentId", generation, last_beat_at AS "lastBeatAt", in_flight AS "inFlight",
  load_ratio AS "loadRatio", observed_ms AS "reportedMs", used_tokens AS "usedTokens"`;

/**
 * Returns one row for the whole batch, because reading a thousand rows would cost more than writing them. The arrays are wrapped
 * in SELECT so that Postgres reuses one index plan for batches of any size. Otherwise it plans each batch by the size of its
 * arrays, and scans the whole table for a hundred heartbeats.
 */
const BEAT_ALL = {
  name: 'beat_all',
  text: `
  WITH beaten AS (
    UPDATE agent_lease l SET last_beat_at = greatest(l.last_beat_at, statement_timestamp()),
      forgiven_ms = (SELECT forgiven_ms FROM registry_protection), taken_by = $8, taken_before = l.taken_by,
      in_flight = coalesce(b.in_flight, l.in_flight), load_ratio = coalesce(b.load_ratio, l.load_ratio),
      observed_ms = coalesce(b.observed_ms, l.observed_ms), used_tokens = greatest(b.used_tokens, l.used_tokens)
    FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[]), (SELECT $3::text[]), (SELECT $4::int[]),
        (SELECT $5::real[]), (SELECT $6::real[]), (SELECT $7::bigint[]))
      WITH ORDINALITY AS b (agent_id, generation, token_hash, in_flight, load_ratio, observed_ms, used_tokens, place)
    WHERE l.agent_id = b.agent_id AND l.generation = b.generation
      AND (b.token_hash IS NULL OR l.token_hash = b.token_hash)
    RETURNING (b.place - 1)::int AS place, l.taken_before
  )
  SELECT date_part('epoch', statement_timestamp()) * 1000 AS "beatAt",
    CASE WHEN count(*) < cardinality($1::text[]) THEN coalesce(array_agg(place), '{}') END AS counted,
    coalesce(array_agg(place) FILTER (WHERE taken_before <> $8), '{}') AS moved
  FROM beaten`,
};

/** The SQL of leases. All writers lock leases in the order of their agentId, which prevents deadlocks. */
@Injectable()
export class LeaseStore {
  /** Identifies this replica in `taken_by`. */
  private readonly replica = randomInt(2 ** 31);

  constructor(private readonly db: Database) {}

  /** Renews the leases of all these agents with one statement. `beats` has at most one heartbeat per agent, sorted by agentId. */
  async beatAll(beats: readonly Heartbeat[]): Promise<RenewedLeases> {
    const parameters = [
      beats.map((beat) => beat.agentId),
      beats.map((beat) => beat.generation),
      beats.map((beat) => beat.tokenHash),
      beats.map((beat) => beat.inFlight),
      beats.map((beat) => asReal(beat.loadRatio)),
      beats.map((beat) => asReal(beat.reportedMs)),
      beats.map((beat) => beat.usedTokens),
      this.replica,
    ];
    const rows = await this.db.query<RenewedLeases>(BEAT_ALL, parameters, 'reserved');
    if (!rows[0]) throw new Error('the statement that renews leases returned no row');
    return rows[0];
  }

  async factsOf(agentIds: readonly string[]): Promise<LeaseFacts[]> {
    return await this.db.query<LeaseFacts>(
      `SELECT agent_id AS "agentId", generation, token_hash AS "tokenHash", leave_reason AS "leaveReason", left_at IS NULL AS live
       FROM agent WHERE agent_id = ANY ($1)`,
      [agentIds],
      'reserved',
    );
  }

  /**
   * Counts the leases, all of them or those of the given agents; the statements that follow then change only the rows that need it.
   * A suspect agent counts as silent until it sends a heartbeat, even if its silence was forgiven.
   */
  async fleetFacts(policy: LeasePolicy, among?: Among): Promise<FleetFacts> {
    const [facts] = await this.db.query<FleetFacts>(
      `SELECT (date_part('epoch', clock_timestamp()) * 1000)::float8 AS now, count(*)::int AS fleet,
         count(*) FILTER (WHERE silent < $2 AND (silent >= $1 OR suspect AND since_beat >= $1))::int AS suspect,
         count(*) FILTER (WHERE silent >= $2)::int AS expired,
         count(*) FILTER (WHERE silent >= $1 AND NOT suspect)::int AS "toSuspect",
         count(*) FILTER (WHERE suspect AND since_beat < $1)::int AS "beatingAgain",
         coalesce(max(silent), 0)::float8 AS "longestSilentMs"
       FROM (SELECT l.suspect, ${SINCE_BEAT_MS} AS since_beat, ${SILENT_MS} AS silent
             FROM agent_lease l WHERE ${isAmong(among, 3)}) AS lease`,
      [suspectAfterMs(policy), leaseTtlMs(policy), ...idsOf(among)],
    );
    if (!facts) throw new Error('the statement that counts the fleet returned no row');
    return { ...facts, now: Math.floor(facts.now) };
  }

  /** Extends all leases by the time in which the registry could not receive heartbeats, by writing one row. */
  async forgive({ from, to }: Gap): Promise<void> {
    await this.db.query(
      `UPDATE registry_protection SET forgiven_ms = forgiven_ms + $1, forgiven_until = to_timestamp($2 / 1000.0)`,
      [Math.ceil(to - from), to],
    );
  }

  async markSuspects(policy: LeasePolicy, most: number, among?: Among): Promise<AgentGeneration[]> {
    return await this.mark(true, `NOT l.suspect AND ${SILENT_MS} >= $1`, [suspectAfterMs(policy), most], among);
  }

  /** A suspect agent recovers only by a heartbeat, not by forgiven silence. */
  async markRecovered(policy: LeasePolicy, most: number, among?: Among): Promise<AgentGeneration[]> {
    return await this.mark(false, `l.suspect AND ${SINCE_BEAT_MS} < $1`, [suspectAfterMs(policy), most], among);
  }

  /** Locks the agent before its lease, like all writers of both. Skips agents that are locked; the next sweep marks them. */
  private async mark(suspect: boolean, which: string, limits: number[], among?: Among): Promise<AgentGeneration[]> {
    return await this.db.query<AgentGeneration>(
      `WITH candidates AS (
         SELECT l.agent_id, l.generation FROM agent_lease l WHERE ${isAmong(among, 3)} AND ${which} LIMIT $2
       ), locked AS (
         SELECT a.agent_id FROM agent a JOIN candidates c USING (agent_id, generation)
         WHERE a.left_at IS NULL FOR UPDATE OF a SKIP LOCKED
       ), leases AS (
         SELECT l.agent_id FROM agent_lease l WHERE l.agent_id IN (SELECT agent_id FROM locked) AND ${which}
         ORDER BY l.agent_id COLLATE "C" FOR UPDATE
       ), marked AS (
         UPDATE agent_lease l SET suspect = ${suspect} FROM leases WHERE l.agent_id = leases.agent_id RETURNING l.agent_id
       )
       UPDATE agent a SET revision = revision + 1 FROM marked m WHERE a.agent_id = m.agent_id
       RETURNING a.agent_id AS "agentId", a.generation, a.capabilities`,
      [...limits, ...idsOf(among)],
    );
  }

  /**
   * Evicts up to `most` expired agents, the longest silent first. It locks each agent and checks the lease again under the lock,
   * so a heartbeat that arrives in between prevents the eviction. It skips rows that another transaction has locked.
   */
  async evictExpired(policy: LeasePolicy, most: number, among?: Among): Promise<LeftAgent[]> {
    return await this.db.query<LeftAgent>(
      `WITH candidates AS (
         SELECT l.agent_id, l.generation FROM agent_lease l WHERE ${isAmong(among, 3)} AND ${SILENT_MS} >= $1
         ORDER BY l.last_beat_at LIMIT $2
       ), locked AS (
         SELECT a.agent_id, a.generation FROM agent a JOIN candidates c USING (agent_id, generation)
         WHERE a.left_at IS NULL FOR UPDATE OF a SKIP LOCKED
       ), leases AS (
         SELECT l.agent_id, l.generation FROM agent_lease l JOIN locked USING (agent_id, generation)
         WHERE ${SILENT_MS} >= $1 ORDER BY l.agent_id COLLATE "C" FOR UPDATE OF l
       ), dead AS (
         DELETE FROM agent_lease l USING leases k WHERE l.agent_id = k.agent_id AND l.generation = k.generation
         RETURNING l.agent_id, l.generation, l.used_tokens
       )
       UPDATE agent a SET left_at = clock_timestamp(), leave_reason = 'evicted', revision = a.revision + 1
       FROM dead d WHERE a.agent_id = d.agent_id AND a.generation = d.generation
       RETURNING a.agent_id AS "agentId", a.name, a.generation, a.capabilities, d.used_tokens AS "usedTokens"`,
      [leaseTtlMs(policy), most, ...idsOf(among)],
    );
  }

  /**
   * The heartbeats that other replicas committed after `since`, from which this replica learns load and latency. A lease without a
   * heartbeat (`taken_by` 0) is not read: the `agent.joined` event reports the agent.
   */
  async beatsOfOtherReplicasSince(since: Date): Promise<BeatRow[]> {
    return await this.db.query<BeatRow>(
      `SELECT ${BEAT_COLUMNS} FROM agent_lease WHERE last_beat_at >= $1 AND taken_by NOT IN (0, $2)`,
      [since, this.replica],
    );
  }

  /** The last heartbeats of these agents, with the last known value of each field. */
  async beatsOf(agentIds: readonly string[]): Promise<BeatRow[]> {
    return await this.db.query<BeatRow>(`SELECT ${BEAT_COLUMNS} FROM agent_lease WHERE agent_id = ANY ($1)`, [
      agentIds,
    ]);
  }
}

function isAmong(among: Among, parameter: number): string {
  return among ? `l.agent_id = ANY ($${parameter}::text[])` : 'true';
}

function idsOf(among: Among): (readonly string[])[] {
  return among ? [among] : [];
}

/** Rounds to single precision: Postgres rejects a number that is too small for `real`, and rounding turns it into 0. */
function asReal(value: number | undefined): number | null {
  return value === undefined ? null : Math.fround(value);
}

export interface BeatRow {
  agentId: string;
  generation: string;
  lastBeatAt: Date;
  inFlight: number;
  loadRatio: number | null;
  reportedMs: number | null;
  usedTokens: string | null;
}
