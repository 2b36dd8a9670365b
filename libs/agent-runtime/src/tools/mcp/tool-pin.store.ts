import { Injectable } from '@nestjs/common';
import { Database } from '#rollcall/platform';

/** What a model reads about a tool. The hash of the name and of exactly these fields is pinned. */
export interface PinnedDefinition {
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
}

export interface SeenTool {
  /** The name at the server. */
  readonly tool: string;
  readonly hash: string;
  readonly definition: PinnedDefinition;
}

export interface ToolPin {
  readonly server: string;
  readonly tool: string;
  readonly hash: string;
  readonly definition: PinnedDefinition;
  readonly acceptedHash: string | null;
  readonly acceptedBy: string | null;
  readonly acceptedAt: Date | null;
  readonly firstSeenAt: Date;
  readonly changedAt: Date;
}

/**
 * A server that renames its tools again and again must not fill the database. Replicas that see different new tools at the same time
 * can exceed this number a little.
 */
const MAX_PINS_PER_SERVER = 1_000;

const COLUMNS = `server, tool, hash, definition, accepted_hash AS "acceptedHash", accepted_by AS "acceptedBy",
  accepted_at AS "acceptedAt", first_seen_at AS "firstSeenAt", changed_at AS "changedAt"`;

@Injectable()
export class ToolPinStore {
  constructor(private readonly db: Database) {}

  /**
   * Stores what a server offers. A tool that was never seen before is accepted at once if `trustsNew`. Returns the pins that are
   * new or have changed. Replicas may do this at the same time: the first insert decides.
   */
  async observe(server: string, tools: readonly SeenTool[], trustsNew: boolean): Promise<ToolPin[]> {
    return await this.db.query<ToolPin>(
      `INSERT INTO tool_pin (server, tool, hash, definition, accepted_hash, accepted_at)
       SELECT $1, tool, hash, definition, CASE WHEN $3 THEN hash END, CASE WHEN $3 THEN now() END
       FROM (SELECT seen.*, pin.tool IS NULL AS is_new,
               row_number() OVER (PARTITION BY pin.tool IS NULL ORDER BY seen.tool) AS place
             FROM jsonb_to_recordset($2::jsonb) AS seen(tool text, hash text, definition jsonb)
             LEFT JOIN tool_pin AS pin ON pin.server = $1 AND pin.tool = seen.tool) AS seen
       WHERE NOT is_new OR place <= $4 - (SELECT count(*) FROM tool_pin WHERE server = $1)
       ORDER BY tool
       ON CONFLICT (server, tool) DO UPDATE
         SET hash = excluded.hash, definition = excluded.definition, changed_at = now()
         WHERE tool_pin.hash <> excluded.hash
       RETURNING ${COLUMNS}`,
      [server, JSON.stringify(tools), trustsNew, MAX_PINS_PER_SERVER],
    );
  }

  async list(server?: string): Promise<ToolPin[]> {
    return await this.db.query<ToolPin>(
      `SELECT ${COLUMNS} FROM tool_pin WHERE $1::text IS NULL OR server = $1 ORDER BY server, tool`,
      [server ?? null],
    );
  }

  async find(server: string, tool: string): Promise<ToolPin | undefined> {
    const [pin] = await this.db.query<ToolPin>(`SELECT ${COLUMNS} FROM tool_pin WHERE server = $1 AND tool = $2`, [
      server,
      tool,
    ]);
    return pin;
  }

  /** Returns undefined if the definition is no longer the one with this hash. */
  async accept(server: string, tool: string, hash: string, by: string): Promise<ToolPin | undefined> {
    const [pin] = await this.db.query<ToolPin>(
      `UPDATE tool_pin SET accepted_hash = hash, accepted_by = $4, accepted_at = now()
       WHERE server = $1 AND tool = $2 AND hash = $3 RETURNING ${COLUMNS}`,
      [server, tool, hash, by],
    );
    return pin;
  }
}
