import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { isVisible, SinksService } from '#rollcall/platform';
import { Problems } from '../http/problems/problem.docs.js';
import { Mutation } from '../mutation/mutation.js';
import { ReplayAfterBody, SinkList, SinkView, toSinkView } from './sinks.dto.js';
import { Caller, type Principal, visibleTo } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

@ApiTags('webhooks')
@Controller('sinks')
@Scope('any')
export class SinksController {
  constructor(private readonly sinks: SinksService) {}

  @Get()
  @Permit('events:read')
  @ApiOperation({
    operationId: 'sinks.list',
    summary: 'List the progress of webhooks and of NATS',
    description:
      'Lists the webhooks of the namespace and, with access to all namespaces, NATS. The response contains no URLs and no secrets.',
  })
  @ApiOkResponse({ type: SinkList, description: 'The sinks.' })
  async list(@Caller() caller: Principal): Promise<SinkList> {
    const visible = visibleTo(caller);
    const sinks = (await this.sinks.list()).filter(({ namespace }) => isVisible(namespace, visible));
    return { items: sinks.map(toSinkView) };
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Permit('webhooks:manage')
  @Mutation({ audit: 'sink.replayed', record: ['after'] })
  @ApiOperation({
    operationId: 'sinks.replay',
    summary: 'Continue a sink from a sequence',
    description:
      'An earlier sequence sends events again; a later sequence skips events. NATS drops duplicates within the deduplication ' +
      'window of its stream.',
  })
  @ApiParam({ name: 'id', description: 'The id of the sink: `nats`, or the id of a webhook.', example: 'nats' })
  @ApiOkResponse({ type: SinkView, description: 'The sink with its new position.' })
  @Problems('SINK_NOT_FOUND', 'CURSOR_EXPIRED', 'CURSOR_AHEAD')
  async replay(
    @Param('id') id: string,
    @Body() { after }: ReplayAfterBody,
    @Caller() caller: Principal,
  ): Promise<SinkView> {
    await this.sinks.get(id, visibleTo(caller));
    await this.sinks.replayAfter(id, Number(after));
    return toSinkView(await this.sinks.get(id));
  }
}
