import { hash } from 'node:crypto';
import { Body, Controller, Headers, HttpCode, Module, NotFoundException, Param, Post } from '@nestjs/common';
import { peerPool, servePeer } from './peer.server.js';

const pool = peerPool();

const BEAT = {
  name: 'beat',
  text: `UPDATE agent_lease SET last_beat_at = clock_timestamp(), in_flight = $4
    WHERE agent_id = $1 AND generation = $2 AND token_hash = $3 RETURNING last_beat_at AS "beatAt"`,
};

/** Writes each heartbeat with one prepared statement. */
@Controller('agents')
class NaiveController {
  @Post(':id/heartbeat')
  @HttpCode(200)
  async beat(
    @Param('id') id: string,
    @Headers('authorization') authorization: string,
    @Body() { generation, inFlight }: { generation: number; inFlight: number },
  ): Promise<{ beatAt: Date; nextIntervalMs: number }> {
    const values = [id, generation, hash('sha256', authorization.slice(7), 'base64url'), inFlight];
    const { rows } = await pool.query<{ beatAt: Date }>({ ...BEAT, values });
    if (!rows[0]) throw new NotFoundException();
    return { beatAt: rows[0].beatAt, nextIntervalMs: 10_000 };
  }
}

@Module({ controllers: [NaiveController] })
class NaiveModule {}

await servePeer(NaiveModule);
