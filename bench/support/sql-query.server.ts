import { Body, Controller, HttpCode, Module, Post } from '@nestjs/common';
import { peerPool, servePeer } from './peer.server.js';
import type { BenchQuery } from './query.samples.js';
import { prepareQuery } from './sql-query.js';

const pool = peerPool();
/** For round-robin: the first agent of the previous result, by query. */
const lastFirst = new Map<string, string>();

/** Runs each query as one prepared statement, with the GIN index of Rollcall's schema. */
@Controller('query')
class SqlQueryController {
  @Post()
  @HttpCode(200)
  async query(@Body() query: BenchQuery): Promise<{ prefer: string; candidates: unknown[] }> {
    const { prefer } = query;
    const key = prefer === 'round-robin' ? JSON.stringify(query) : '';
    const { rows } = await pool.query<{ agentId: string }>(prepareQuery(query, lastFirst.get(key) ?? ''));
    if (key !== '' && rows[0]) lastFirst.set(key, rows[0].agentId);
    return { prefer, candidates: rows.map((agent, index) => ({ rank: index + 1, agent })) };
  }
}

@Module({ controllers: [SqlQueryController] })
class SqlQueryModule {}

await servePeer(SqlQueryModule);
