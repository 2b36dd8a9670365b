import { randomBytes } from 'node:crypto';
import { CuttableProxy, FreezablePostgres, proxyPostgres } from '#rollcall/registry/testing';
import { type Server, startRollcall } from '../servers.js';

export const LEASE_MS = 7_000;

const KEY = randomBytes(32).toString('hex');

/** The proportions of the defaults, about four times as fast: a lease is three intervals and a second. */
const SETTINGS = {
  ROLLCALL_ADMIN_KEY: KEY,
  ROLLCALL_HEARTBEAT_EVERY: '2s',
  ROLLCALL_MISSED_BEATS: '3',
  ROLLCALL_DATABASE_TIMEOUT: '500ms',
};

export interface Replica extends Server {
  /** Between this replica and Postgres. */
  database: CuttableProxy;
}

/** Two replicas on one Postgres, behind a gateway that takes them in turn. */
export class Stage {
  readonly key = KEY;

  private constructor(
    readonly postgres: FreezablePostgres,
    readonly replicas: readonly Replica[],
    readonly gateway: CuttableProxy,
  ) {}

  static async start(): Promise<Stage> {
    const postgres = await FreezablePostgres.start();
    const replicas = [await startReplica(postgres.url), await startReplica(postgres.url)];
    const targets = replicas.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }));
    return new Stage(postgres, replicas, await CuttableProxy.start(...targets));
  }

  get url(): string {
    return `http://127.0.0.1:${this.gateway.port}`;
  }

  async stop(): Promise<void> {
    await this.gateway.stop();
    await Promise.all(this.replicas.map(async (replica) => await replica.stop()));
    await Promise.all(this.replicas.map(async ({ database }) => await database.stop()));
    await this.postgres.stop();
  }
}

async function startReplica(databaseUrl: string): Promise<Replica> {
  const { proxy: database, url } = await proxyPostgres(databaseUrl);
  const server = await startRollcall({ ...SETTINGS, DATABASE_URL: url });
  return { ...server, database };
}
