import type { ClientBase, QueryConfig } from 'pg';

/** A statement with a name of its own: each connection parses it once and may keep its plan. The name belongs to one text. */
export interface NamedStatement {
  name: string;
  text: string;
}

export interface Statement {
  sql: string | NamedStatement;
  parameters: readonly unknown[];
}

export function toQuery({ sql, parameters }: Statement, mayPrepare: boolean): QueryConfig {
  const values = [...parameters];
  if (typeof sql === 'string') return { text: sql, values };
  return mayPrepare ? { ...sql, values } : { text: sql.text, values };
}

/** Harmless outside a transaction. */
export function isRead(sql: string | NamedStatement): boolean {
  return /^\s*SELECT\b/i.test(typeof sql === 'string' ? sql : sql.text);
}

/**
 * Whether the connection leads to Postgres itself. Behind a pooler such as PgBouncer each transaction may run on another server
 * connection, which does not have the statements that were prepared before. A pooler reports a process id of its own.
 */
export async function isDirect(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid === processIdOf(client);
}

/** The process id that the server reported at connection time; node-postgres does not type it. */
function processIdOf(client: ClientBase): number | undefined {
  return (client as unknown as { processID?: number }).processID;
}
