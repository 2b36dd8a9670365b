import { AsyncLocalStorage } from 'node:async_hooks';
import { Database } from '#rollcall/platform';
import type { TestApi } from './api.js';

/**
 * Records the statements that the requests of a test send with `Database.query`: the SQL, or the name of a prepared statement.
 * Statements of background work are not recorded, even if they write for a request, as a group commit does.
 */
export class StatementRecorder {
  private readonly requests = new AsyncLocalStorage<string[]>();
  private statements: string[] = [];

  constructor({ app }: Pick<TestApi, 'app'>) {
    const server = app.nest.getHttpServer();
    server.prependListener('request', () => this.requests.enterWith(this.statements));
    const db = app.nest.get(Database, { strict: false });
    const query = db.query.bind(db);
    db.query = async (sql, ...rest) => {
      this.requests.getStore()?.push(typeof sql === 'string' ? sql : sql.name);
      return await query(sql, ...rest);
    };
  }

  /** Returns the result of the request, and the statements that were sent for it. */
  async during<T>(request: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
    const statements = (this.statements = []);
    return { result: await request(), statements };
  }
}
