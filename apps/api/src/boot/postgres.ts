import { resolve } from 'node:path';
import type { Logger as Pino } from 'pino';
import { EmbeddedPostgres, waitForPostgres } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';

export interface Postgres {
  url: string;
  embedded: boolean;
  stop(): Promise<void>;
}

/** Connects to the Postgres of DATABASE_URL, or starts the embedded one in the data folder. */
export async function openPostgres({ database, data }: Config, pino: Pino): Promise<Postgres> {
  if (!database.url) return await openEmbedded(resolve(data.dir), pino);
  await waitForPostgres(database.url, database.connectWait, (reason) =>
    pino.warn({ event: 'database.waiting' }, reason),
  );
  return { url: database.url, embedded: false, stop: async () => {} };
}

async function openEmbedded(folder: string, pino: Pino): Promise<Postgres> {
  const server = await EmbeddedPostgres.start({
    folder,
    onRestart: (reason) =>
      pino.error({ event: 'database.restarting', reason }, 'the embedded Postgres stopped and is started again'),
  });
  return { url: server.url(), embedded: true, stop: () => server.stop() };
}
