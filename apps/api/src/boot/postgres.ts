import { resolve } from 'node:path';
import type { Logger as Pino } from 'pino';
import { EmbeddedPostgres, waitForPostgres } from '#rollcall/platform';
import type { Config } from '../config/config.schema.js';

export interface Postgres {
  url: string;
  embedded: boolean;
  /** Waits until it accepts connections. */
  ready(): Promise<void>;
  stop(): Promise<void>;
}

/** The Postgres of DATABASE_URL, or the embedded one in the data folder, which starts while the caller does other work. */
export async function launchPostgres({ database, data }: Config, pino: Pino): Promise<Postgres> {
  const { url, directUrl, connectWait } = database;
  if (!url) return await launchEmbedded(resolve(data.dir), pino);
  const onWait = (reason: string): void => pino.warn({ event: 'database.waiting' }, reason);
  return {
    url,
    embedded: false,
    ready: async () => {
      await waitForPostgres(url, connectWait, onWait);
      if (directUrl) await waitForPostgres(directUrl, connectWait, onWait, 'DATABASE_DIRECT_URL');
    },
    stop: async () => {},
  };
}

async function launchEmbedded(folder: string, pino: Pino): Promise<Postgres> {
  const server = await EmbeddedPostgres.launch({
    folder,
    onRestart: (reason) =>
      pino.error({ event: 'database.restarting', reason }, 'the embedded Postgres stopped and is started again'),
  });
  return { url: server.url(), embedded: true, ready: () => server.ready(), stop: () => server.stop() };
}
