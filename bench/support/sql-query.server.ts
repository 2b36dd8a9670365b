import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Pool } from 'pg';

/** As many connections as Rollcall has by default. */
const pool = new Pool({ connectionString: process.env['DATABASE_URL'], max: 10 });

/** The ten cheapest healthy agents with all these capabilities, and the parts of their records. */
const TOP_TEN = {
  name: 'top_ten',
  text: `SELECT a.agent_id AS "agentId", a.name, a.endpoint, a.agent_card AS "agentCard", a.capabilities, a.provider,
      a.cost_model AS "costModel", a.labels, a.circuit, a.budget_total AS "totalTokens", a.budget_used AS "usedTokens",
      a.registered_at AS "registeredAt", l.last_beat_at AS "lastHeartbeat", l.in_flight AS "inFlight"
    FROM agent a JOIN agent_lease l ON l.agent_id = a.agent_id AND l.generation = a.generation
    LEFT JOIN agent_intent i ON i.agent_id = a.agent_id
    WHERE a.capability_keys @> $1 AND a.left_at IS NULL AND NOT l.suspect AND a.circuit ->> 'phase' = 'closed'
      AND coalesce(i.desired_state, 'active') = 'active'
      AND (a.budget_total IS NULL OR a.budget_total > a.budget_used)
    ORDER BY (a.cost_model ->> 'usdPer1kTokens')::float8 LIMIT 10`,
};

/** The same question, asked of Postgres each time. */
@Controller('query')
class SqlQueryController {
  @Post()
  @HttpCode(200)
  async query(@Body() { capabilities }: { capabilities: string[] }): Promise<{ candidates: unknown[] }> {
    const { rows } = await pool.query<object>({ ...TOP_TEN, values: [capabilities] });
    return { candidates: rows.map((agent, place) => ({ rank: place + 1, agent })) };
  }
}

@Module({ controllers: [SqlQueryController] })
class SqlQueryModule {}

const app = await NestFactory.create<NestFastifyApplication>(SqlQueryModule, new FastifyAdapter(), { logger: false });
await app.listen(0, '127.0.0.1');
console.log(JSON.stringify({ event: 'process.started', url: await app.getUrl() }));
process.on('SIGTERM', () => void app.close().then(() => process.exit(0)));
