import { Injectable } from '@nestjs/common';
import {
  EventSequencer,
  type EventSnapshot,
  type LogPosition,
  PageTurns,
  type VisibleNamespaces,
} from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import type { AgentRecord } from './agent.record.js';
import { AGENT_COLUMNS, AGENT_TABLES, type AgentRow, toRecord } from './agent.store.js';

/** Each open snapshot holds a database connection outside the pool. */
const MAX_OPEN = 4;
/** Of one namespace, or of all namespaces together, so that one of them cannot keep the others from reading. */
const MAX_OPEN_OF_ONE = 2;
const SLICE = 250;

class SnapshotsBusyError extends RegistryError {
  readonly code = 'SNAPSHOTS_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor(limit: number, whose = '') {
    super(`This replica already reads ${limit} snapshots${whose}, which is the limit. Try again in a second.`);
  }
}

/** All live agents of some namespaces at one position of the event log. */
export interface AgentSnapshot {
  position: LogPosition;
  /** Yields the agents in slices, ordered by qualified id. Closes the snapshot at the end, even when the consumer stops early. */
  slices(): AsyncGenerator<AgentRecord[], void, void>;
  close(): Promise<void>;
}

/**
 * Reads the agents as of one position of the event log, without blocking writers. The slices of all open snapshots take turns, because each
 * occupies the event loop for milliseconds.
 */
@Injectable()
export class AgentSnapshots {
  private readonly turns = new PageTurns();
  /** The namespaces of each open snapshot. */
  private readonly open: string[] = [];

  constructor(private readonly sequencer: EventSequencer) {}

  async take(visible: VisibleNamespaces): Promise<AgentSnapshot> {
    const release = this.reserve(visible === null ? '' : visible.join(' '));
    try {
      const shot = await this.sequencer.snapshot();
      const close = closing(shot, release);
      return { position: shot.position, slices: () => this.slices(shot, visible, close), close };
    } catch (error) {
      release();
      throw error;
    }
  }

  private reserve(whose: string): () => void {
    if (this.open.length >= MAX_OPEN) throw new SnapshotsBusyError(MAX_OPEN);
    if (this.open.filter((one) => one === whose).length >= MAX_OPEN_OF_ONE)
      throw new SnapshotsBusyError(MAX_OPEN_OF_ONE, ' of these namespaces');
    this.open.push(whose);
    return () => void this.open.splice(this.open.indexOf(whose), 1);
  }

  private async *slices(
    shot: EventSnapshot,
    visible: VisibleNamespaces,
    close: () => Promise<void>,
  ): AsyncGenerator<AgentRecord[], void, void> {
    try {
      const [clock] = await shot.query<{ now: Date }>('SELECT clock_timestamp() AS now');
      const now = clock?.now.getTime() ?? 0;
      let rows: AgentRow[];
      let after = '';
      do {
        rows = await this.turns.run(async () => await readSlice(shot, visible, after));
        if (rows.length > 0) yield rows.map((row) => toRecord(row, now));
        after = rows.at(-1)?.agentId ?? after;
      } while (rows.length === SLICE);
    } finally {
      await close();
    }
  }
}

async function readSlice(shot: EventSnapshot, visible: VisibleNamespaces, after: string): Promise<AgentRow[]> {
  return await shot.query<AgentRow>(
    `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES}
     WHERE a.left_at IS NULL AND a.agent_id > $2 AND ($3::text[] IS NULL OR a.namespace = ANY ($3))
     ORDER BY a.agent_id LIMIT $1`,
    [SLICE, after, visible],
  );
}

/** Returns a function that closes the snapshot. It may be called more than once. */
function closing(shot: EventSnapshot, release: () => void): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return async () => {
    if (!closed) release();
    closed ??= shot.close();
    await closed;
  };
}
