import { randomInt } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { Budget } from '../../budgets/budget.js';

/** Agents that changed without an event. */
export interface ChangedAgents {
  /** They sent heartbeats. */
  beaten: string[];
  /** Their budgets changed. */
  charged: string[];
}

type ChangeRow = ChangedAgents & { id: string };

/** How often this replica writes a row even if it has nothing to report, or knows no other replica. */
const ANNOUNCE_EVERY_MS = 5_000;
/** A replica without a row for this long is taken for stopped. Rows older than this are not read. */
const RECENT_MS = 20_000;
const KEPT_MS = 60_000;

const PUBLISH = `
  WITH old AS (
    DELETE FROM replica_changes
    WHERE at NOT BETWEEN clock_timestamp() - interval '${KEPT_MS} ms' AND clock_timestamp() + interval '${KEPT_MS} ms'
  )
  INSERT INTO replica_changes (replica, beaten, charged) VALUES ($1, $2, $3)`;

const OF_OTHERS = `SELECT id, beaten, charged FROM replica_changes
  WHERE replica <> $1 AND at >= clock_timestamp() - interval '${RECENT_MS} ms' AND id <> ALL ($2::bigint[])`;

/**
 * Heartbeats and charges write no event, because there are too many. Once a second, each replica publishes the agents that it changed by
 * them, and reads those that other replicas published; so the cost follows the number of changes, and not the size of the fleet.
 * Only ids are exchanged: the values are then read from the leases and budgets.
 */
@Injectable()
export class ReplicaChanges {
  private readonly replica = randomInt(2 ** 31);
  private beaten = new Set<string>();
  private charged = new Set<string>();
  private publishedAt = -Infinity;
  private othersSeenAt = -Infinity;
  private readAt = performance.now();
  /** The rows that were read, with the time of the read, oldest first. */
  private readonly rowsRead = new Map<string, number>();

  constructor(private readonly db: Database) {}

  noteBeats(beats: readonly { agentId: string }[]): void {
    for (const { agentId } of beats) this.beaten.add(agentId);
  }

  noteCharges(budgets: readonly Pick<Budget, 'kind' | 'subject'>[]): void {
    for (const { kind, subject } of budgets) if (kind === 'agent') this.charged.add(subject);
  }

  /** Publishes what this replica changed since the last call. While no other replica is known, it does so less often. */
  async publish(): Promise<void> {
    const now = performance.now();
    const isRead = now - this.othersSeenAt < RECENT_MS && this.beaten.size + this.charged.size > 0;
    if (!isRead && now - this.publishedAt < ANNOUNCE_EVERY_MS) return;
    const { beaten, charged } = this;
    this.beaten = new Set();
    this.charged = new Set();
    try {
      await this.db.query(PUBLISH, [this.replica, [...beaten], [...charged]]);
      this.publishedAt = now;
    } catch (error) {
      this.beaten = this.beaten.union(beaten);
      this.charged = this.charged.union(charged);
      throw error;
    }
  }

  /**
   * The agents that other replicas changed and that were not read yet. Returns undefined if rows may have been missed, because
   * the last read was too long ago.
   */
  async ofOthers(): Promise<ChangedAgents | undefined> {
    const now = performance.now();
    const rows = await this.db.query<ChangeRow>(OF_OTHERS, [this.replica, [...this.rowsRead.keys()]]);
    if (rows.length > 0) this.othersSeenAt = now;
    for (const { id } of rows) this.rowsRead.set(id, now);
    for (const [id, at] of this.rowsRead) if (now - at > KEPT_MS) this.rowsRead.delete(id);
    const hasAll = now - this.readAt < RECENT_MS / 2;
    this.readAt = now;
    if (!hasAll) return undefined;
    return { beaten: rows.flatMap(({ beaten }) => beaten), charged: rows.flatMap(({ charged }) => charged) };
  }
}
