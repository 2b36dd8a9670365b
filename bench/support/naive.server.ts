import { hash } from 'node:crypto';
import { Body, Controller, Headers, HttpCode, Module, NotFoundException, Param, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';

/** As many connections as Rollcall has by default. */
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

/** How heartbeats are usually written: each by a statement of its own. */
@Controller('agents')
class NaiveController {
  @Post(':id/heartbeat')
  @HttpCode(200)
  async beat(
    @Param('id') id: string,
    @Headers('authorization') authorization: string,
    @Body() { generation, inFlight }: { generation: number; inFlight: number },
  ): Promise<{ beatAt: Date; nextIntervalMs: number }> {
    const { rows } = await pool.query<{ beatAt: Date }>(
      `UPDATE agent_lease SET last_beat_at = clock_timestamp(), in_flight = $4
       WHERE agent_id = $1 AND generation = $2 AND token_hash = $3 RETURNING last_beat_at AS "beatAt"`,
      [id, generation, hash('sha256', authorization.slice(7), 'base64url'), inFlight],
    );
    if (!rows[0]) throw new NotFoundException();
    return { beatAt: rows[0].beatAt, nextIntervalMs: 10_000 };
  }
}

@Module({ controllers: [NaiveController] })
class NaiveModule {}

const app = await NestFactory.create<NestFastifyApplication>(NaiveModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ event: 'process.started', url: await app.getUrl() }));
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
