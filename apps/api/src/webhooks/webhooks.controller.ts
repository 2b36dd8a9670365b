import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiBadRequestResponse,
  ApiCreatedResponse,
  ApiForbiddenResponse,
  ApiGoneResponse,
  ApiNoContentResponse,
  ApiNotFoundResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { WebhooksService } from '#rollcall/platform';
import { EgressPolicy, normalUrl } from '#rollcall/providers';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { EventsService } from '../events/events.service.js';
import { PageQuery, readCursor, toPage } from '../http/page.js';
import { Mutation } from '../mutation/mutation.js';
import {
  ChangeWebhookBody,
  CreateWebhookBody,
  IssuedWebhookView,
  ReplayBody,
  RotateSecretBody,
  toFacts,
  toIssuedView,
  toWebhookView,
  WebhookPage,
  WebhookView,
} from './webhooks.dto.js';

@ApiTags('webhooks')
@Controller('webhooks')
@Permit('webhooks:manage')
@ApiNotFoundResponse({ description: 'WEBHOOK_NOT_FOUND' })
export class WebhooksController {
  constructor(
    private readonly webhooks: WebhooksService,
    private readonly events: EventsService,
    private readonly egress: EgressPolicy,
  ) {}

  @Post()
  @Mutation({ audit: 'webhook.created', record: ['description', 'types', 'agentIds', 'capabilities', 'after'] })
  @ApiOperation({
    summary: 'Have events sent to an endpoint',
    description: 'Signed as Standard Webhooks say. The secret is in this answer and nowhere else.',
  })
  @ApiCreatedResponse({ type: IssuedWebhookView })
  @ApiForbiddenResponse({ description: 'QUOTA_EXCEEDED' })
  @ApiBadRequestResponse({ description: 'EGRESS_DENIED: the address may not be called from here.' })
  async create(@Body() body: CreateWebhookBody, @Caller() { id: by }: Principal): Promise<IssuedWebhookView> {
    const facts = { ...toFacts(body), url: this.checkedUrl(body.url) };
    const { seq: after } = await this.events.locate(body.after);
    return toIssuedView(await this.webhooks.create({ facts, paused: body.paused ?? false, after, by }));
  }

  @Get()
  @ApiOperation({ summary: 'List webhooks, newest first' })
  @ApiOkResponse({ type: WebhookPage })
  async list(@Query() { limit, cursor }: PageQuery): Promise<WebhookPage> {
    const found = await this.webhooks.list(limit + 1, readCursor(cursor, /^\d{1,18}$/));
    return toPage(found, limit, toWebhookView, ({ row }) => row.seq);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Look at one webhook, and how far it is' })
  @ApiOkResponse({ type: WebhookView })
  async get(@Param('id') id: string): Promise<WebhookView> {
    return toWebhookView(await this.webhooks.get(id));
  }

  @Patch(':id')
  @Mutation({ audit: 'webhook.changed', record: ['description', 'types', 'agentIds', 'capabilities', 'paused'] })
  @ApiOperation({
    summary: 'Change an address, a filter, or pause it',
    description: 'A null takes a filter away. After any change the next event is tried at once.',
  })
  @ApiOkResponse({ type: WebhookView })
  async change(@Param('id') id: string, @Body() { paused, ...facts }: ChangeWebhookBody): Promise<WebhookView> {
    if (facts.url !== undefined) facts.url = this.checkedUrl(facts.url);
    return toWebhookView(await this.webhooks.update(id, facts, paused));
  }

  @Post(':id/rotate')
  @Mutation({ audit: 'webhook.rotated', record: ['overlapSeconds'] })
  @ApiOperation({ summary: 'Replace the secret', description: 'For the overlap, deliveries have both signatures.' })
  @ApiCreatedResponse({ type: IssuedWebhookView })
  async rotate(@Param('id') id: string, @Body() { overlapSeconds }: RotateSecretBody): Promise<IssuedWebhookView> {
    return toIssuedView(await this.webhooks.rotate(id, overlapSeconds * 1_000));
  }

  @Post(':id/replay')
  @HttpCode(200)
  @Mutation({ audit: 'webhook.replayed', record: ['after'] })
  @ApiOperation({ summary: 'Send events again', description: 'All that are parked, or everything after a sequence.' })
  @ApiOkResponse({ type: WebhookView })
  @ApiGoneResponse({ description: 'CURSOR_EXPIRED: the events after it are no longer kept.' })
  async replay(@Param('id') id: string, @Body() { after }: ReplayBody): Promise<WebhookView> {
    const from = after === undefined ? undefined : (await this.events.locate(after)).seq;
    return toWebhookView(await this.webhooks.replay(id, from));
  }

  @Delete(':id')
  @HttpCode(204)
  @Mutation({ audit: 'webhook.deleted' })
  @ApiOperation({ summary: 'Remove a webhook' })
  @ApiNoContentResponse({ description: 'A delivery under way may still arrive.' })
  async remove(@Param('id') id: string): Promise<void> {
    await this.webhooks.remove(id);
  }

  private checkedUrl(url: string): string {
    return normalUrl(this.egress.checkUrl(url));
  }
}
