import type { PoolClient, QueryConfig } from 'pg';
import { DatabaseBusyError, isConnectionError, sqlState } from './database.errors.js';

/** Something to run with the COMMIT. It takes no parameters: whoever writes it escapes the values in it. */
export interface CommitStatement {
  plain: string;
  /** The same, as a statement that a connection can be taught once: `PREPARE name definition`, `EXECUTE name(values)`. */
  prepared?: { name: string; definition: string; values: string };
}

type Taught = NonNullable<CommitStatement['prepared']>;

/** A statement each connection plans once. The name must belong to this text alone. */
export interface Prepared {
  name: string;
  text: string;
}

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
  private asked = false;

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

  /** The statement as this connection may be given it: by its name, or behind a pooler by its text alone. */
  async query({ name, text }: Prepared, client: PoolClient): Promise<QueryConfig> {
    return (await this.mayPrepare(client)) ? { name, text } : { text };
  }

  /** Asked of the first connection; the others go the same way. */
  private async mayPrepare(client: PoolClient): Promise<boolean> {
    if (!this.asked && this.allowed) {
      const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      this.allowed &&= rows[0]?.pid === numberOf(client);
      this.asked = true;
    }
    return this.allowed;
  }

  /** What was to be committed is. If this fails the connection is broken, and the next who gets it is told. */
  private async teach(client: PoolClient, { name, definition }: Taught): Promise<void> {
    const names = this.known.get(client) ?? new Set();
    this.known.set(client, names);
    try {
      if (!(await this.mayPrepare(client))) return;
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
