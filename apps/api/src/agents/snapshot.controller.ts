import { Readable } from 'node:stream';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags, ApiTooManyRequestsResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { formatCursor } from '#rollcall/platform';
import { type AgentSnapshot, AgentSnapshots } from '#rollcall/registry';
import { AGENT_EXAMPLE } from './agents.examples.js';
import { Permit } from '../auth/route.access.js';
import { InFlight } from '../http/in-flight.js';
import { Limits } from '../http/route.limits.js';

/** A snapshot keeps Postgres from clearing up, so who reads too slowly is cut off. */
const LONGEST_MS = 60_000;

@ApiTags('events')
@Controller('events/snapshot')
export class SnapshotController {
  constructor(
    private readonly snapshots: AgentSnapshots,
    private readonly inFlight: InFlight,
  ) {}

  @Get()
  @Permit('agents:read')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    summary: 'All agents, and the event they are true at',
    description:
      'For consumers that begin, or whose cursor has expired: take this, then follow events after `cursor`. Sent as it is read; if it breaks off, the document is not complete, and `count` is missing.',
  })
  @ApiOkResponse({
    schema: { example: { sequence: '1042', cursor: '1042-9f3c27d1', items: [AGENT_EXAMPLE], count: 1 } },
  })
  @ApiTooManyRequestsResponse({ description: 'SNAPSHOTS_BUSY: this replica sends several already.' })
  async read(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    void reply.type('application/json; charset=utf-8');
    if (request.method === 'HEAD') return void reply.send();
    const snapshot = await this.snapshots.take();
    this.inFlight.exempt(reply);
    const body = Readable.from(document(snapshot), { objectMode: false });
    const timer = setTimeout(() => body.destroy(new Error('the snapshot was read too slowly')), LONGEST_MS).unref();
    body.once('close', () => {
      clearTimeout(timer);
      void snapshot.close(); // also if nobody began to read
    });
    void reply.send(body);
  }
}

async function* document(snapshot: AgentSnapshot): AsyncGenerator<string, void, void> {
  let count = 0;
  const { position } = snapshot;
  yield `{"sequence":"${position.seq}","cursor":"${formatCursor(position)}","items":[`;
  for await (const records of snapshot.slices()) {
    yield (count > 0 ? ',' : '') + records.map((record) => JSON.stringify(record)).join(',');
    count += records.length;
  }
  yield `],"count":${count}}`;
}
