import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';
import type { AgentShutdown } from './shutdown.report.js';

/** Asks another replica to shut down its agent with this name or, without a name, all its agents of the namespace. */
export interface RuntimeCommand {
  namespace: string;
  name?: string;
}

/** How the shutdown of each agent ended, by name. */
export type ShutdownResults = Record<string, AgentShutdown>;

export interface TakenCommand {
  id: string;
  command: RuntimeCommand;
  remainingMs: number;
}

export const COMMAND_CHANNEL = 'rollcall_runtime_command';
export const RESULT_CHANNEL = 'rollcall_runtime_result';
const KEEP_MS = 60_000;

/** Commands between replicas, with one NOTIFY for the command and one for its result. */
@Injectable()
export class RuntimeCommandStore {
  constructor(private readonly db: Database) {}

  async send(id: string, replicaId: string, command: RuntimeCommand, limitMs: number): Promise<void> {
    await this.db.query(
      `WITH sent AS (
         INSERT INTO runtime_command (id, replica_id, command, expires_at)
         VALUES ($1, $2, $3, clock_timestamp() + $4 * interval '1 millisecond') RETURNING replica_id
       ) SELECT pg_notify('${COMMAND_CHANNEL}', replica_id) FROM sent`,
      [id, replicaId, JSON.stringify(command), limitMs],
    );
  }

  /** Each command is taken once. An expired command is not executed. */
  async take(replicaId: string): Promise<TakenCommand[]> {
    return await this.db.query<TakenCommand>(
      `UPDATE runtime_command SET is_taken = true WHERE replica_id = $1 AND NOT is_taken AND expires_at > clock_timestamp()
       RETURNING id, command, (extract(epoch FROM expires_at - clock_timestamp()) * 1000)::float8 AS "remainingMs"`,
      [replicaId],
    );
  }

  async answer(id: string, result: ShutdownResults): Promise<void> {
    await this.db.query(
      `WITH answered AS (UPDATE runtime_command SET result = $2 WHERE id = $1 RETURNING id)
       SELECT pg_notify('${RESULT_CHANNEL}', id::text) FROM answered`,
      [id, JSON.stringify(result)],
    );
  }

  async resultOf(id: string): Promise<ShutdownResults | null> {
    const sql = 'SELECT result FROM runtime_command WHERE id = $1';
    return (await this.db.query<{ result: ShutdownResults | null }>(sql, [id]))[0]?.result ?? null;
  }

  async prune(): Promise<void> {
    const sql = `DELETE FROM runtime_command WHERE expires_at < clock_timestamp() - $1 * interval '1 millisecond'`;
    await this.db.query(sql, [KEEP_MS]);
  }
}
