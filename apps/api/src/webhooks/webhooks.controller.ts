import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { WebhooksService } from '#rollcall/platform';
import { EgressPolicy, normalizeUrl } from '#rollcall/providers';
import { EventsService } from '../events/events.service.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Mutation } from '../mutation/mutation.js';
import {
  ChangeWebhookBody,
  CreateWebhookBody,
  IssuedWebhookView,
  ReplayBody,
  RotateSecretBody,
  toFields,
  toIssuedView,
  toWebhookView,
  WEBHOOK_ID,
  WebhookPage,
  WebhookView,
} from './webhooks.dto.js';
import { Caller, type Principal, visibleTo } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

const WEBHOOKS = new PagedList('webhooks');
const REPLAY_EXAMPLES = {
  parked: { summary: 'Parked events', value: {} satisfies ReplayBody },
  all: { summary: 'All events after the first', value: { after: '1' } satisfies ReplayBody },
};

@ApiTags('webhooks')
@Controller('webhooks')
@Permit('webhooks:manage')
@Scope('any')
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly events: EventsService,
    private readonly egress: EgressPolicy,
  ) {}

  @Post()
  @Permit('webhooks:manage')
  @Mutation({ audit: 'webhook.created', record: ['description', 'types', 'agentIds', 'capabilities', 'after'] })
  @ApiOperation({
    operationId: 'webhooks.create',
    summary: 'Create a webhook',
    description:
      'The webhook receives the events of the namespace of the request; with `Rollcall-Namespace: *`, all events. Deliveries are signed ' +
      'as defined by Standard Webhooks. Only this response contains the secret.',
  })
  @ApiCreatedResponse({ type: IssuedWebhookView, description: 'The webhook with its secret.' })
  @Problems('QUOTA_EXCEEDED', 'NAMESPACE_FULL', 'EGRESS_DENIED', 'CURSOR_AHEAD', 'CURSOR_EXPIRED', 'CURSOR_FOREIGN')
  async create(@Body() body: CreateWebhookBody, @Caller() caller: Principal): Promise<IssuedWebhookView> {
    const { id: createdBy, namespace } = caller;
    const fields = { ...toFields(body), url: this.checkedUrl(body.url) };
    const { seq: after } = await this.events.locate(body.after, visibleTo(caller));
    const wanted = { fields, paused: body.paused ?? false, after, createdBy, namespace };
    return toIssuedView(await this.webhooks.create(wanted));
  }

  @Get()
  @ApiOperation({ operationId: 'webhooks.list', summary: 'List webhooks, newest first' })
  @ApiOkResponse({ type: WebhookPage, description: 'A page of webhooks.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor }: PageQuery, @Caller() caller: Principal): Promise<WebhookPage> {
    const rows = await this.webhooks.list(limit + 1, WEBHOOKS.readCursor(cursor), visibleTo(caller));
    return WEBHOOKS.toPage(rows, limit, toWebhookView, ({ row }) => row.seq);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'webhooks.get', summary: 'Get a webhook and its progress' })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ type: WebhookView, description: 'The webhook, without its secret.' })
  @Problems('WEBHOOK_NOT_FOUND')
  async get(@Param('id') id: string, @Caller() caller: Principal): Promise<WebhookView> {
    return toWebhookView(await this.webhooks.get(id, visibleTo(caller)));
  }

  @Patch(':id')
  @Mutation({ audit: 'webhook.changed', record: ['description', 'types', 'agentIds', 'capabilities', 'paused'] })
  @ApiOperation({
    operationId: 'webhooks.update',
    summary: 'Update or pause a webhook',
    description: 'Null removes a filter. After a change, the next event is delivered immediately.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiOkResponse({ type: WebhookView, description: 'The updated webhook.' })
  @Problems('WEBHOOK_NOT_FOUND', 'EGRESS_DENIED')
  async change(
    @Param('id') id: string,
    @Body() changes: ChangeWebhookBody,
    @Caller() caller: Principal,
  ): Promise<WebhookView> {
    if (changes.url !== undefined) changes.url = this.checkedUrl(changes.url);
    return toWebhookView(await this.webhooks.update(id, changes, visibleTo(caller)));
  }

  @Post(':id/rotate')
  @Mutation({ audit: 'webhook.rotated', record: ['overlapSeconds'] })
  @ApiOperation({
    operationId: 'webhooks.rotateSecret',
    summary: 'Replace the secret of a webhook',
    description: 'During the overlap, deliveries have both signatures.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiCreatedResponse({ type: IssuedWebhookView, description: 'The webhook with its new secret.' })
  @Problems('WEBHOOK_NOT_FOUND')
  async rotate(
    @Param('id') id: string,
    @Body() { overlapSeconds }: RotateSecretBody,
    @Caller() caller: Principal,
  ): Promise<IssuedWebhookView> {
    return toIssuedView(await this.webhooks.rotate(id, overlapSeconds * 1_000, visibleTo(caller)));
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Mutation({ audit: 'webhook.replayed', record: ['after'] })
  @ApiOperation({
    operationId: 'webhooks.replay',
    summary: 'Deliver events again',
    description: 'Delivers all parked events again, or all events after a sequence.',
  })
  @ApiParam(WEBHOOK_ID)
  @ApiBody({ type: ReplayBody, examples: REPLAY_EXAMPLES })
  @ApiOkResponse({ type: WebhookView, description: 'The webhook with its new position.' })
  @Problems('WEBHOOK_NOT_FOUND', 'CURSOR_AHEAD', 'CURSOR_EXPIRED', 'CURSOR_FOREIGN')
  async replay(
    @Param('id') id: string,
    @Body() { after }: ReplayBody,
    @Caller() caller: Principal,
  ): Promise<WebhookView> {
    const from = after === undefined ? undefined : (await this.events.locate(after, visibleTo(caller))).seq;
    return toWebhookView(await this.webhooks.replay(id, from, visibleTo(caller)));
  }

  @Delete(':id')
  @HttpCode(204)
  @Mutation({ audit: 'webhook.deleted' })
  @ApiOperation({ operationId: 'webhooks.delete', summary: 'Delete a webhook' })
  @ApiParam(WEBHOOK_ID)
  @ApiNoContentResponse({ description: 'The webhook is deleted. A delivery in progress may still arrive.' })
  @Problems('WEBHOOK_NOT_FOUND')
  async remove(@Param('id') id: string, @Caller() caller: Principal): Promise<void> {
    await this.webhooks.remove(id, visibleTo(caller));
  }

  private checkedUrl(url: string): string {
    return normalizeUrl(this.egress.checkUrl(url));
  }
}
