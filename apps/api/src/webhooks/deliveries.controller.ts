import { Controller, Get, HttpCode, Param, ParseIntPipe, Post, Query } from '@nestjs/common';
import { ApiNotFoundResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { SinksService, WebhooksService } from '#rollcall/platform';
import { Permit } from '../auth/route.access.js';
import { readCursor, toPage } from '../http/page.js';
import { Mutation } from '../mutation/mutation.js';
import { DeliveriesQuery, DeliveryPage, DeliveryView, toDeliveryView } from './webhooks.dto.js';

@ApiTags('webhooks')
@Controller('webhooks/:id/deliveries')
@Permit('webhooks:manage')
@ApiNotFoundResponse({ description: 'WEBHOOK_NOT_FOUND or DELIVERY_NOT_FOUND' })
export class DeliveriesController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly sinks: SinksService,
  ) {}

  @Get()
  @ApiOperation({ summary: 'What became of events, newest first' })
  @ApiOkResponse({ type: DeliveryPage })
  async list(@Param('id') id: string, @Query() { limit, cursor, state }: DeliveriesQuery): Promise<DeliveryPage> {
    await this.webhooks.get(id);
    const rows = await this.sinks.listDeliveries(id, limit + 1, readCursor(cursor, /^\d{1,18}$/), state);
    return toPage(rows, limit, toDeliveryView, ({ seq }) => seq);
  }

  @Get(':sequence')
  @ApiOperation({ summary: 'What became of one event' })
  @ApiOkResponse({ type: DeliveryView })
  async get(@Param('id') id: string, @Param('sequence', ParseIntPipe) sequence: number): Promise<DeliveryView> {
    return toDeliveryView(await this.sinks.delivery(id, sequence));
  }

  @Post(':sequence/replay')
  @HttpCode(200)
  @Mutation({ audit: 'webhook.delivery_replayed' })
  @ApiOperation({
    summary: 'Send one event again',
    description: 'Once, before any other, and at once. If that fails it is parked.',
  })
  @ApiOkResponse({ type: DeliveryView })
  async replay(@Param('id') id: string, @Param('sequence', ParseIntPipe) sequence: number): Promise<DeliveryView> {
    return toDeliveryView(await this.sinks.replayOne(id, sequence));
  }
}
