import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';

/** A pool with as many connections to Postgres as Rollcall has in the same benchmark. */
export function peerPool(): Pool {
  return new Pool({ connectionString: process.env['DATABASE_URL'], max: Number(process.env['PEER_POOL_SIZE']) });
}

/** Serves a module with NestJS on Fastify: no authentication, no limits, no logs. */
export async function servePeer(module: Type): Promise<void> {
  const app = await NestFactory.create<NestFastifyApplication>(module, new FastifyAdapter(), { logger: false });
  await app.listen(0, '127.0.0.1');
  console.log(JSON.stringify({ event: 'process.started', url: await app.getUrl() }));
  process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
}
