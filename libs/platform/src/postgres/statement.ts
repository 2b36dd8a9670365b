import type { ClientBase, QueryConfig } from 'pg';

/** A prepared statement: each connection parses it once and may reuse its plan. A name always stands for the same text. */
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

const WRITES = /\b(?:INSERT\s+INTO|UPDATE\s+\S+(?:\s+(?:AS\s+)?\w+)?\s+SET|DELETE\s+FROM|MERGE\s+INTO)\b/i;

/**
 * Whether the statement only reads or locks rows, so that it may also run outside a transaction. Text that looks like a write, such
 * as a quoted one, makes the statement a write: this only costs a round trip.
 */
export function isRead(sql: string | NamedStatement): boolean {
  const text = typeof sql === 'string' ? sql : sql.text;
  return /^\s*(?:SELECT|WITH)\b/i.test(text) && !WRITES.test(text);
}

/**
 * Whether the connection leads directly to Postgres. Behind a pooler such as PgBouncer, each transaction may run on
 * another server connection, which does not have the prepared statements. A pooler reports its own process id when
 * a client connects, which differs from the process id of the Postgres session.
 */
export async function isDirect(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid === processIdOf(client);
}

/** The process id that the server reported at connection time; node-postgres does not type it. */
function processIdOf(client: ClientBase): number | undefined {
  return (client as unknown as { processID?: number }).processID;
}
