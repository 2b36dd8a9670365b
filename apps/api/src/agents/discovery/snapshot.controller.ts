import { Readable } from 'node:stream';
import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiProperty, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { formatCursor } from '#rollcall/platform';
import { type AgentSnapshot, AgentSnapshots } from '#rollcall/registry';
import { Problems } from '../../http/problems/problem.docs.js';
import { InFlight } from '../../http/server/in-flight.js';
import { Limits } from '../../http/server/routes.js';
import { AgentView } from '../agent.view.js';
import { callerOf, visibleTo } from '../../auth/principal.js';
import { Permit, Scope } from '../../auth/route.access.js';

/** An open snapshot holds back vacuum in Postgres, so a consumer that reads too slowly is disconnected. */
const MAX_READ_MS = 60_000;

class SnapshotView {
  @ApiProperty({ example: '1042', description: 'The `sequence` of the last event that the snapshot includes.' })
  sequence: string;
  @ApiProperty({ example: '1042-9f3c27d1', description: 'Continue with events after this cursor.' }) cursor: string;
  @ApiProperty({ type: [AgentView], description: 'All agents of the namespace.' }) items: AgentView[];
  @ApiProperty({
    type: 'integer',
    example: 1,
    description: 'How many agents the snapshot contains. Missing if the snapshot is incomplete.',
  })
  count: number;
}

@ApiTags('events')
@Controller('events/snapshot')
export class SnapshotController {
  constructor(
    private readonly snapshots: AgentSnapshots,
    private readonly inFlight: InFlight,
  ) {}

  @Get()
  @Permit('agents:read')
  @Scope('any')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'events.snapshot',
    summary: 'Get all agents of the namespace at one position of the event log',
    description:
      'For consumers that start, or whose cursor has expired: read the snapshot, then follow events after `cursor`. The ' +
      'response is streamed. If it is interrupted, the document is not complete and `count` is missing.',
  })
  @ApiOkResponse({ type: SnapshotView, description: 'All agents of the namespace.' })
  @Problems('SNAPSHOTS_BUSY')
  async read(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    void reply.type('application/json; charset=utf-8');
    if (request.method === 'HEAD') return void reply.send();
    const snapshot = await this.snapshots.take(visibleTo(callerOf(request)));
    this.inFlight.exempt(reply);
    const body = Readable.from(document(snapshot), { objectMode: false });
    const timer = setTimeout(() => body.destroy(new Error('the snapshot was read too slowly')), MAX_READ_MS).unref();
    body.once('close', () => {
      clearTimeout(timer);
      void snapshot.close(); // runs even if the client reads nothing
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
