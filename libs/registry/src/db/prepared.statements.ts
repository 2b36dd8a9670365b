import type { PoolClient } from 'pg';
import { DatabaseBusyError, isConnectionError, sqlState } from './database.errors.js';

/** Something to run with the COMMIT. It takes no parameters: whoever writes it escapes the values in it. */
export interface CommitStatement {
  plain: string;
  /** The same, as a statement that a connection can be taught once: `PREPARE name definition`, `EXECUTE name(values)`. */
  prepared?: { name: string; definition: string; values: string };
}

type Prepared = NonNullable<CommitStatement['prepared']>;

const NO_SUCH_STATEMENT = '26000';

/**
 * Ends transactions, with statements that connections have prepared where they may: planning the same small INSERT anew
 * for every commit costs writers a tenth of their throughput (measured).
 *
 * A connection is taught after its first commit, and only if it goes to Postgres itself. Behind a pooler such as PgBouncer
 * each transaction may be on another connection, which has learnt nothing; a pooler shows itself, for it gives its own
 * number instead of that of the backend.
 */
export class PreparedStatements {
  private readonly known = new WeakMap<PoolClient, Set<string>>();
  private allowed = true;

  async commit(client: PoolClient, statements: readonly CommitStatement[]): Promise<void> {
    const known = this.allowed ? this.known.get(client) : undefined;
    const texts = statements.map(({ plain, prepared }) =>
      prepared && known?.has(prepared.name) ? `EXECUTE ${prepared.name}(${prepared.values})` : plain,
    );
    try {
      await client.query([...texts, 'COMMIT'].join(';\n'));
    } catch (error) {
      throw this.explain(error);
    }
    const wanted = statements.find(({ prepared }) => prepared && !known?.has(prepared.name))?.prepared;
    if (wanted && this.allowed) await this.teach(client, wanted);
  }

  /** What was to be committed is. If this fails the connection is broken, and the next who gets it is told. */
  private async teach(client: PoolClient, { name, definition }: Prepared): Promise<void> {
    const names = this.known.get(client) ?? new Set();
    this.known.set(client, names);
    try {
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      this.allowed &&= rows[0]?.pid === numberOf(client);
      if (!this.allowed) return;
      await client.query(`PREPARE ${name} ${definition}`);
      names.add(name);
    } catch (error) {
      if (!isConnectionError(error)) this.allowed = false; // it goes as well without
    }
  }

  private explain(error: unknown): unknown {
    if (sqlState(error) !== NO_SUCH_STATEMENT) return error;
    this.allowed = false;
    return new DatabaseBusyError(error);
  }
}

/** What the server said it is, when the connection was made; node-postgres does not type it. */
function numberOf(client: PoolClient): number | undefined {
  return (client as unknown as { processID?: number }).processID;
}
