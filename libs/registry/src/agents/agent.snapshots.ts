import { Injectable } from '@nestjs/common';
import { EventSequencer, type EventSnapshot, type LogPosition, type VisibleNamespaces } from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import type { AgentRecord } from './agent.record.js';
import { AGENT_COLUMNS, AGENT_TABLES, type AgentRow, toRecord } from './agent.store.js';

/** Each open snapshot holds a database connection outside the pool. */
const MAX_OPEN = 4;
const SLICE = 500;

class SnapshotsBusyError extends RegistryError {
  readonly code = 'SNAPSHOTS_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super(`This replica already reads ${MAX_OPEN} snapshots, which is the limit. Try again in a second.`);
  }
}

/** All live agents of some namespaces at one position of the event log. */
export interface AgentSnapshot {
  position: LogPosition;
  /** Yields the agents in slices, ordered by qualified id. Closes the snapshot at the end, even when the consumer stops early. */
  slices(): AsyncGenerator<AgentRecord[], void, void>;
  close(): Promise<void>;
}

/** Reads the agents as of one position of the event log, without blocking writers. */
@Injectable()
export class AgentSnapshots {
  private open = 0;

  constructor(private readonly sequencer: EventSequencer) {}

  async take(visible: VisibleNamespaces): Promise<AgentSnapshot> {
    if (this.open >= MAX_OPEN) throw new SnapshotsBusyError();
    this.open += 1;
    try {
      const shot = await this.sequencer.snapshot();
      const close = this.closing(shot);
      return { position: shot.position, slices: () => slices(shot, visible, close), close };
    } catch (error) {
      this.open -= 1;
      throw error;
    }
  }

  /** Returns a function that closes the snapshot. It may be called more than once. */
  private closing(shot: EventSnapshot): () => Promise<void> {
    let closed: Promise<void> | undefined;
    return async () => {
      if (!closed) this.open -= 1;
      closed ??= shot.close();
      await closed;
    };
  }
}

async function* slices(
  shot: EventSnapshot,
  visible: VisibleNamespaces,
  close: () => Promise<void>,
): AsyncGenerator<AgentRecord[], void, void> {
  try {
    const [clock] = await shot.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const now = clock?.now.getTime() ?? 0;
    for (let after = '', size = SLICE; size === SLICE;) {
      const rows = await shot.query<AgentRow>(
        `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES}
         WHERE a.left_at IS NULL AND a.agent_id > $2 AND ($3::text[] IS NULL OR a.namespace = ANY ($3))
         ORDER BY a.agent_id LIMIT $1`,
        [SLICE, after, visible],
      );
      if (rows.length > 0) yield rows.map((row) => toRecord(row, now));
      size = rows.length;
      after = rows.at(-1)?.agentId ?? after;
    }
  } finally {
    await close();
  }
}
