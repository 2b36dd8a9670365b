import { Injectable } from '@nestjs/common';
import { EventSequencer, type EventSnapshot, type LogPosition } from '#rollcall/platform';
import { RegistryError } from '../errors.js';
import type { AgentRecord } from './agent.record.js';
import { AGENT_COLUMNS, AGENT_TABLES, type AgentRow, toRecord } from './agent.row.js';

/** Each holds a connection beside the pool. */
const MOST_AT_ONCE = 4;
const SLICE = 500;

export class SnapshotsBusyError extends RegistryError {
  readonly code = 'SNAPSHOTS_BUSY';
  override readonly retryAfterMs = 1_000;

  constructor() {
    super(`This replica reads ${MOST_AT_ONCE} snapshots already. Try again in a moment.`);
  }
}

/** All agents that are there, as of one seq. */
export interface AgentSnapshot {
  position: LogPosition;
  /** By agentId, in slices, read as they are asked for. Ends the snapshot when it is over or abandoned. */
  slices(): AsyncGenerator<AgentRecord[], void, void>;
  close(): Promise<void>;
}

/** Reads the whole fleet as it was at one place in the log, without holding anyone up. */
@Injectable()
export class AgentSnapshots {
  private open = 0;

  constructor(private readonly sequencer: EventSequencer) {}

  async take(): Promise<AgentSnapshot> {
    if (this.open >= MOST_AT_ONCE) throw new SnapshotsBusyError();
    this.open += 1;
    try {
      const shot = await this.sequencer.snapshot();
      const close = this.closing(shot);
      return { position: shot.position, slices: () => slices(shot, close), close };
    } catch (error) {
      this.open -= 1;
      throw error;
    }
  }

  /** May be called more than once. */
  private closing(shot: EventSnapshot): () => Promise<void> {
    let closed: Promise<void> | undefined;
    return async () => {
      if (!closed) this.open -= 1;
      closed ??= shot.close();
      await closed;
    };
  }
}

async function* slices(shot: EventSnapshot, close: () => Promise<void>): AsyncGenerator<AgentRecord[], void, void> {
  try {
    const [clock] = await shot.query<{ now: Date }>('SELECT clock_timestamp() AS now');
    const now = clock?.now.getTime() ?? 0;
    for (let after = '', size = SLICE; size === SLICE;) {
      const rows = await shot.query<AgentRow>(
        `SELECT ${AGENT_COLUMNS} FROM ${AGENT_TABLES}
         WHERE a.left_at IS NULL AND a.agent_id > $2 ORDER BY a.agent_id LIMIT $1`,
        [SLICE, after],
      );
      if (rows.length > 0) yield rows.map((row) => toRecord(row, now));
      size = rows.length;
      after = rows.at(-1)?.agentId ?? after;
    }
  } finally {
    await close();
  }
}
