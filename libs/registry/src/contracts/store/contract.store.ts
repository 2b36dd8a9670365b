import { Injectable } from '@nestjs/common';
import { Database, withinPage } from '#rollcall/platform';
import { type ContractState, dueAt } from '../auction/auction.js';
import { ContractNotFoundError } from '../contract.errors.js';
import type { Announcement, Contract, ListedContract } from '../contract.js';
import type { ContractEntity } from './contract.entities.js';

export interface ContractKey {
  readonly namespace: string;
  readonly id: string;
}

export interface ContractFilter {
  readonly namespace: string;
  readonly states?: readonly ContractState[];
}

/** A page of contracts in the order of announcement, after this position. */
interface ContractRunPage {
  readonly hasRun: boolean;
  readonly after: number;
  readonly limit: number;
}

interface InvitedCounts {
  readonly invited: number;
  readonly notInvited: number;
}

/** A locked contract, and the time of the database after the lock was granted. */
export interface LockedContract {
  readonly contract: Contract;
  readonly now: number;
}

export type ContractRow = Omit<ContractEntity, 'dueAt'>;

export const CONTRACT_COLUMNS = `c.seq, c.id, c.namespace, c.state, c.capabilities, c.task, c.limits, c.reserve, c.scoring,
  c.weights, c.run, c.announced_by AS "by", c.payer, c.announced_at AS "announcedAt", c.deadline,
  c.confirm_within_ms AS "confirmWithinMs", c.invited, c.not_invited AS "notInvited", c.answered, c.winner, c.awards, c.awarded_at AS "awardedAt",
  c.confirm_by AS "confirmBy", c.ended_at AS "endedAt", c.expiry_reason AS "expiryReason", c.run_id AS "runId", c.outcome`;

const PAGE = withinPage(
  `SELECT * FROM contract WHERE namespace = $1 AND ($2::bigint IS NULL OR seq < $2)
     AND ($4::text[] IS NULL OR state = ANY ($4)) ORDER BY seq DESC LIMIT $3`,
  { size: 'octet_length(task)', order: 'seq DESC' },
);

/** The SQL of contracts. Every change locks the contract first, so changes of one contract never overlap. */
@Injectable()
export class ContractStore {
  constructor(private readonly db: Database) {}

  async insert(id: string, announcement: Announcement, { invited, notInvited }: InvitedCounts): Promise<Contract> {
    const { namespace, capabilities, task, limits, reserve, scoring, weights, run, by, payer } = announcement;
    const { bidWithinMs, confirmWithinMs } = announcement;
    const terms = [id, namespace, capabilities, task, limits, reserve, scoring, weights];
    const [row] = await this.db.query<ContractRow>(
      `INSERT INTO contract AS c (id, namespace, state, capabilities, task, limits, reserve, scoring, weights, run, announced_by, payer,
         invited, not_invited, confirm_within_ms, announced_at, deadline, due_at)
       SELECT $1, $2, 'announced', $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $15, $13, t.now,
         t.now + $14 * interval '1 millisecond', t.now + $14 * interval '1 millisecond'
       FROM (SELECT date_trunc('milliseconds', clock_timestamp()) AS now) AS t RETURNING ${CONTRACT_COLUMNS}`,
      [...terms, run, by, payer, invited, confirmWithinMs, bidWithinMs, notInvited].map(toParameter),
    );
    return toContract(row);
  }

  async find({ namespace, id }: ContractKey): Promise<Contract | undefined> {
    const sql = `SELECT ${CONTRACT_COLUMNS} FROM contract AS c WHERE id = $1 AND namespace = $2`;
    const [row] = await this.db.query<ContractRow>(sql, [id, namespace]);
    return row && toContract(row);
  }

  /** Locks the contract until the transaction ends. The time is read by a statement of its own, after the lock is granted. */
  async lock({ namespace, id }: ContractKey): Promise<LockedContract> {
    const sql = `SELECT ${CONTRACT_COLUMNS} FROM contract AS c WHERE id = $1 AND namespace = $2 FOR NO KEY UPDATE`;
    const [rows, now] = await Promise.all([this.db.query<ContractRow>(sql, [id, namespace]), this.now()]);
    if (!rows[0]) throw new ContractNotFoundError(id);
    return { contract: toContract(rows[0]), now };
  }

  /** Locks one contract whose next step is due and that no other replica has locked. */
  async lockDue(): Promise<LockedContract | undefined> {
    const [rows, now] = await Promise.all([
      this.db.query<ContractRow>(
        `SELECT ${CONTRACT_COLUMNS} FROM contract AS c WHERE due_at <= clock_timestamp()
         ORDER BY due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED`,
      ),
      this.now(),
    ]);
    return rows[0] && { contract: toContract(rows[0]), now };
  }

  /** The time until the next step of any contract is due; null if there is none. */
  async msUntilDue(): Promise<number | null> {
    const [row] = await this.db.query<{ ms: number | null }>(
      'SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8 * 1000 AS ms FROM contract WHERE due_at IS NOT NULL',
    );
    return row?.ms ?? null;
  }

  /** Writes the state of a locked contract. With `dueNow`, its next step is due at once. */
  async save(contract: Contract, dueNow = false): Promise<void> {
    const { id, state, answered, winner, awards, awardedAt, confirmBy, endedAt, expiryReason, runId, outcome } =
      contract;
    const facts = [id, state, answered, winner, awards, awardedAt, confirmBy, endedAt];
    await this.db.query(
      `UPDATE contract SET state = $2, answered = $3, winner = $4, awards = $5, awarded_at = to_timestamp($6::float8 / 1000),
         confirm_by = to_timestamp($7::float8 / 1000), ended_at = to_timestamp($8::float8 / 1000), expiry_reason = $9,
         run_id = $10, outcome = $11, due_at = CASE WHEN $13 THEN clock_timestamp() ELSE to_timestamp($12::float8 / 1000) END
       WHERE id = $1`,
      [...facts, expiryReason, runId, outcome, dueAt(contract), dueNow].map(toParameter),
    );
  }

  /** Moves the next step of a contract into the future. */
  async postpone(id: string, ms: number): Promise<void> {
    const sql = `UPDATE contract SET due_at = clock_timestamp() + $2 * interval '1 millisecond'
      WHERE id = $1 AND due_at IS NOT NULL`;
    await this.db.query(sql, [id, ms]);
  }

  /** Newest first; `before` is the position of the last contract of the previous page. */
  async page({ namespace, states }: ContractFilter, limit: number, before?: number): Promise<ListedContract[]> {
    const rows = await this.db.query<ContractRow>(
      `SELECT ${CONTRACT_COLUMNS} FROM (${PAGE}) AS c ORDER BY c.seq DESC`,
      [namespace, before ?? null, limit, states ?? null],
    );
    return rows.map(toListed);
  }

  /** Confirmed contracts whose run must be started; with `hasRun`, those whose run has started and has no outcome yet. */
  async awaitingRun({ hasRun, after, limit }: ContractRunPage): Promise<ListedContract[]> {
    const rows = await this.db.query<ContractRow>(
      `SELECT ${CONTRACT_COLUMNS} FROM contract AS c WHERE state = 'confirmed' AND run AND outcome IS NULL
         AND (run_id IS NOT NULL) = $1 AND seq > $2 ORDER BY seq LIMIT $3`,
      [hasRun, after, limit],
    );
    return rows.map(toListed);
  }

  /** The number of open contracts of all namespaces, by state. */
  async countByState(): Promise<{ state: ContractState; contracts: number }[]> {
    return await this.db.query(
      'SELECT state, count(*)::integer AS contracts FROM contract WHERE due_at IS NOT NULL GROUP BY state',
    );
  }

  async countOpen(namespace: string): Promise<number> {
    const [row] = await this.db.query<{ contracts: number }>(
      'SELECT count(*)::integer AS contracts FROM contract WHERE namespace = $1 AND ended_at IS NULL',
      [namespace],
    );
    return row?.contracts ?? 0;
  }

  async countOpenOf(by: string): Promise<number> {
    const [row] = await this.db.query<{ contracts: number }>(
      'SELECT count(*)::integer AS contracts FROM contract WHERE announced_by = $1 AND ended_at IS NULL',
      [by],
    );
    return row?.contracts ?? 0;
  }

  /** Until the transaction ends, no other transaction gets the lock of this principal. */
  async lockOwner(by: string): Promise<void> {
    await this.db.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`rollcall.contracts:${by}`]);
  }

  /** Deletes contracts that ended more than `keepMs` ago. Returns how many it deleted. */
  async prune(keepMs: number, limit: number): Promise<number> {
    const rows = await this.db.query<{ id: string }>(
      `WITH old AS (DELETE FROM contract WHERE seq IN (
           SELECT seq FROM contract WHERE ended_at < clock_timestamp() - $1 * interval '1 millisecond' LIMIT $2)
         RETURNING id),
       bids AS (DELETE FROM contract_bid WHERE contract_id IN (SELECT id FROM old)),
       entries AS (DELETE FROM contract_entry WHERE contract_id IN (SELECT id FROM old)),
       notices AS (DELETE FROM contract_notice WHERE contract_id IN (SELECT id FROM old))
       SELECT id FROM old`,
      [keepMs, limit],
    );
    return rows.length;
  }

  async now(): Promise<number> {
    const [row] = await this.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    return row?.now.getTime() ?? 0;
  }
}

/** An object is the value of a column of the type json. */
function toParameter(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? JSON.stringify(value) : value;
}

export function toContract(row: ContractRow): Contract {
  const { seq: _, announcedAt, deadline, awardedAt, confirmBy, endedAt, ...facts } = row;
  return {
    ...facts,
    announcedAt: announcedAt.getTime(),
    deadline: deadline.getTime(),
    awardedAt: timeOf(awardedAt),
    confirmBy: timeOf(confirmBy),
    endedAt: timeOf(endedAt),
  };
}

function toListed(row: ContractRow): ListedContract {
  return { ...toContract(row), seq: Number(row.seq) };
}

/** In milliseconds. */
export function timeOf(date: Date | null): number | null {
  return date === null ? null : date.getTime();
}
