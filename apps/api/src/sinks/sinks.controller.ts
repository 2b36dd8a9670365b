import { Body, Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { ApiGoneResponse, ApiNotFoundResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { SinksService } from '#rollcall/platform';
import { Permit } from '../auth/route.access.js';
import { Mutation } from '../mutation/mutation.js';
import { ReplayAfterBody, SinkList, SinkView, toSinkView } from './sinks.dto.js';

@ApiTags('webhooks')
@Controller('sinks')
export class SinksController {
  constructor(private readonly sinks: SinksService) {}

  @Get()
  @Permit('events:read')
  @ApiOperation({ summary: 'How far each webhook and NATS are', description: 'Without addresses and secrets.' })
  @ApiOkResponse({ type: SinkList })
  async list(): Promise<SinkList> {
    return { items: (await this.sinks.list()).map(toSinkView) };
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Permit('webhooks:manage')
  @Mutation({ audit: 'sink.replayed', record: ['after'] })
  @ApiOperation({
    summary: 'Go on from a sequence',
    description:
      'Back to send events again, forward to leave some out. NATS drops events that it stored within its duplicate window.',
  })
  @ApiOkResponse({ type: SinkView })
  @ApiNotFoundResponse({ description: 'SINK_NOT_FOUND' })
  @ApiGoneResponse({ description: 'CURSOR_EXPIRED: take a snapshot from `snapshot`, then go on from its seq.' })
  async replay(@Param('id') id: string, @Body() { after }: ReplayAfterBody): Promise<SinkView> {
    await this.sinks.replayAfter(id, Number(after));
    return toSinkView(await this.sinks.get(id));
  }
}
