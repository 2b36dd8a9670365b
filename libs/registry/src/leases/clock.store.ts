import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

/**
 * Corrects the stored times of contracts, agents, circuits, leases, reservations and sinks after the database's clock was set back. Otherwise,
 * times that are now in the future would delay everything by the length of the jump: leases would not expire, and circuits would stay
 * open. Periods of circuits and sinks that were stored between the jump and its detection (about one second) end too early, which is
 * harmless.
 */
@Injectable()
export class ClockStore {
  constructor(private readonly db: Database) {}

  /**
   * `byMs` is the length of the jump. Runs in the transaction of the sweep. Locks contracts before reservations, and agents before
   * circuits and leases, like all writers.
   */
  async stepBack(byMs: number, now: number): Promise<void> {
    await this.rebaseContracts(byMs);
    await this.rebaseFlaps(now);
    await this.rebaseCircuits(byMs, now);
    await this.rebaseLeases();
    await this.rebaseReservations(byMs);
    await this.rebaseSinks(byMs);
  }

  /**
   * Changes only auctions and awards whose begin is in the future, so they began before the jump. An auction that began after the jump
   * must not close early.
   */
  private async rebaseContracts(byMs: number): Promise<void> {
    await this.db.query(
      `UPDATE contract SET deadline = ${earlier('deadline')}, confirm_by = ${earlier('confirm_by')}, due_at = ${earlier('due_at')}
       WHERE due_at > clock_timestamp() AND coalesce(awarded_at, announced_at) > clock_timestamp()`,
      [byMs],
    );
    await this.db.query(`UPDATE contract_notice SET due_at = ${earlier('due_at')} WHERE due_at > clock_timestamp()`, [
      byMs,
    ]);
  }

  private async rebaseFlaps(now: number): Promise<void> {
    await this.db.query(
      `WITH later AS (
         SELECT agent_id FROM agent WHERE (flap->>'at')::float8 > $1 ORDER BY agent_id COLLATE "C" FOR UPDATE
       )
       UPDATE agent a SET revision = a.revision + 1, flap = jsonb_set(a.flap, '{at}', to_jsonb($1::float8))
       FROM later WHERE a.agent_id = later.agent_id`,
      [now],
    );
  }

  private async rebaseCircuits(byMs: number, now: number): Promise<void> {
    const [openUntil, probeUntil] = [`(state->>'openUntil')::float8`, `(state#>>'{probe,expiresAt}')::float8`];
    await this.db.query(
      `WITH later AS (
         SELECT agent_id, state FROM agent_circuit WHERE ${openUntil} > $1 OR ${probeUntil} > $1
         ORDER BY agent_id COLLATE "C" FOR UPDATE
       ), reopened AS (
         SELECT agent_id, CASE WHEN ${openUntil} > $1
           THEN jsonb_set(state, '{openUntil}', to_jsonb(${rebased(openUntil)})) ELSE state END AS state FROM later
       )
       UPDATE agent_circuit c SET version = c.version + 1, state = CASE WHEN ${probeUntil.replace('state', 'r.state')} > $1
         THEN jsonb_set(r.state, '{probe,expiresAt}', to_jsonb(${rebased(`r.state#>>'{probe,expiresAt}'`)})) ELSE r.state END
       FROM reopened r WHERE c.agent_id = r.agent_id`,
      [now, byMs],
    );
  }

  /** An agent whose last heartbeat is in the future gets a full lease from now on. */
  private async rebaseLeases(): Promise<void> {
    await this.db.query(
      `WITH later AS (
         SELECT agent_id FROM agent_lease WHERE last_beat_at > clock_timestamp() ORDER BY agent_id COLLATE "C" FOR UPDATE
       )
       UPDATE agent_lease l SET last_beat_at = clock_timestamp() FROM later WHERE l.agent_id = later.agent_id`,
    );
    await this.db.query(`UPDATE registry_protection SET forgiven_until = least(forgiven_until, clock_timestamp())`);
  }

  private async rebaseReservations(byMs: number): Promise<void> {
    await this.db.query(
      `WITH later AS (
         SELECT owner, key FROM budget_reservation WHERE state = 'held' AND opened_at > clock_timestamp()
         FOR UPDATE SKIP LOCKED
       )
       UPDATE budget_reservation r SET opened_at = clock_timestamp(), expires_at = ${earlier('r.expires_at')}
       FROM later WHERE r.owner = later.owner AND r.key = later.key`,
      [byMs],
    );
  }

  private async rebaseSinks(byMs: number): Promise<void> {
    await this.db.query(
      `UPDATE event_sink SET due_at = ${earlier('due_at')}, lease_until = ${earlier('lease_until')}
       WHERE due_at > clock_timestamp() OR lease_until > clock_timestamp()`,
      [byMs],
    );
  }
}

/** SQL that moves a time in milliseconds back by the length of the jump, but not to a time before now. */
function rebased(moment: string): string {
  return `greatest($1::float8, (${moment})::float8 - $2)`;
}

/** SQL that moves a timestamp in the future back by the length of the jump, but not to a time before now. */
function earlier(column: string): string {
  const moved = `greatest(clock_timestamp(), ${column} - $1 * interval '1 millisecond')`;
  return `CASE WHEN ${column} > clock_timestamp() THEN ${moved} ELSE ${column} END`;
}
