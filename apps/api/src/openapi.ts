import type { OpenAPIObject } from '@nestjs/swagger';
import { pino } from 'pino';
import { composeApp } from './app.js';
import { databaseOptions } from './boot/start.js';
import { loadConfig } from './config/config.loader.js';
import { describeApi } from './http/docs.js';
import { VERSION } from './version.js';

const NO_DATABASE = 'postgres://127.0.0.1:1/none';

/** Returns the OpenAPI document with the default configuration, without a server and without a database. */
export async function openApiDocument(): Promise<OpenAPIObject> {
  const config = loadConfig({}, '/nowhere');
  const database = databaseOptions(config, NO_DATABASE);
  const { nest } = await composeApp({ config, database, pino: pino({ level: 'silent' }) });
  return describeApi(nest, VERSION);
}
