import { Controller, Get, HttpCode, Param, Post, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, type ApiParamOptions, ApiTags } from '@nestjs/swagger';
import { SinksService, WebhooksService } from '#rollcall/platform';
import { PagedList } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { WholeNumberPipe } from '../http/validation/fields.js';
import { Mutation } from '../mutation/mutation.js';
import { DeliveriesQuery, DeliveryPage, DeliveryView, toDeliveryView, WEBHOOK_ID } from './webhooks.dto.js';
import { Caller, type Principal, visibleTo } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

const DELIVERIES = new PagedList('deliveries');
const SEQUENCE_NUMBER = new WholeNumberPipe({ example: 1_042 });
const SEQUENCE: ApiParamOptions = {
  name: 'sequence',
  description: 'The position of the event in the log.',
  schema: { type: 'integer', example: 1 },
};

@ApiTags('webhooks')
@Controller('webhooks/:id/deliveries')
@Permit('webhooks:manage')
@Scope('any')
@ApiParam(WEBHOOK_ID)
@Problems('WEBHOOK_NOT_FOUND', 'DELIVERY_NOT_FOUND')
export class DeliveriesController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly sinks: SinksService,
  ) {}

  @Get()
  @ApiOperation({ operationId: 'webhooks.listDeliveries', summary: 'List deliveries, newest first' })
  @ApiOkResponse({ type: DeliveryPage, description: 'A page of deliveries.' })
  @Problems('CURSOR_INVALID')
  async list(
    @Param('id') id: string,
    @Query() { limit, cursor, state }: DeliveriesQuery,
    @Caller() caller: Principal,
  ): Promise<DeliveryPage> {
    await this.webhooks.get(id, visibleTo(caller));
    const rows = await this.sinks.listDeliveries(id, limit + 1, DELIVERIES.readCursor(cursor), state);
    return DELIVERIES.toPage(rows, limit, toDeliveryView, ({ seq }) => seq);
  }

  @Get(':sequence')
  @ApiOperation({ operationId: 'webhooks.getDelivery', summary: 'Get the delivery of an event' })
  @ApiParam(SEQUENCE)
  @ApiOkResponse({ type: DeliveryView, description: 'The delivery.' })
  async get(
    @Param('id') id: string,
    @Param('sequence', SEQUENCE_NUMBER) sequence: number,
    @Caller() caller: Principal,
  ): Promise<DeliveryView> {
    await this.webhooks.get(id, visibleTo(caller));
    return toDeliveryView(await this.sinks.delivery(id, sequence));
  }

  @Post(':sequence/replay')
  @HttpCode(200)
  @Mutation({ audit: 'webhook.delivery_replayed' })
  @ApiOperation({
    operationId: 'webhooks.replayDelivery',
    summary: 'Deliver one event again',
    description:
      'The event is sent once, immediately, and before all other events. If this fails, the event is parked.',
  })
  @ApiParam(SEQUENCE)
  @ApiOkResponse({ type: DeliveryView, description: 'The delivery, which is scheduled.' })
  async replay(
    @Param('id') id: string,
    @Param('sequence', SEQUENCE_NUMBER) sequence: number,
    @Caller() caller: Principal,
  ): Promise<DeliveryView> {
    await this.webhooks.get(id, visibleTo(caller));
    return toDeliveryView(await this.sinks.replayOne(id, sequence));
  }
}
