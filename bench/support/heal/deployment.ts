import { randomBytes } from 'node:crypto';
import { CuttableProxy, FreezablePostgres, proxyPostgres } from '#rollcall/platform/testing';
import { leaseTtlMs, DEFAULT_LEASE_POLICY } from '#rollcall/registry';
import { type Server, startRollcall } from '../servers.js';

const KEY = randomBytes(32).toString('hex');

/** The defaults with a shorter interval, so that there is time for many faults. */
const settings = (intervalMs: number): Record<string, string> => ({
  ROLLCALL_ADMIN_KEY: KEY,
  ROLLCALL_HEARTBEAT_EVERY: `${intervalMs}ms`,
});

export interface Replica extends Server {
  /** The proxy between this replica and Postgres. */
  database: CuttableProxy;
}

/** Two replicas on one Postgres, behind a proxy that alternates between them. */
export class Deployment {
  readonly key = KEY;

  private constructor(
    readonly postgres: FreezablePostgres,
    readonly replicas: readonly Replica[],
    readonly proxy: CuttableProxy,
    readonly leaseMs: number,
  ) {}

  static async start(intervalMs: number): Promise<Deployment> {
    const postgres = await FreezablePostgres.start();
    const replicas = [await startReplica(postgres.url, intervalMs), await startReplica(postgres.url, intervalMs)];
    const targets = replicas.map(({ url }) => ({ host: '127.0.0.1', port: Number(new URL(url).port) }));
    const leaseMs = leaseTtlMs({ ...DEFAULT_LEASE_POLICY, intervalMs });
    return new Deployment(postgres, replicas, await CuttableProxy.start(...targets), leaseMs);
  }

  get url(): string {
    return `http://127.0.0.1:${this.proxy.port}`;
  }

  async stop(): Promise<void> {
    await this.proxy.stop();
    await Promise.all(this.replicas.map(async (replica) => await replica.stop()));
    await Promise.all(this.replicas.map(async ({ database }) => await database.stop()));
    await this.postgres.stop();
  }
}

async function startReplica(databaseUrl: string, intervalMs: number): Promise<Replica> {
  const { proxy: database, url } = await proxyPostgres(databaseUrl);
  const server = await startRollcall({ ...settings(intervalMs), DATABASE_URL: url });
  return { ...server, database };
}
