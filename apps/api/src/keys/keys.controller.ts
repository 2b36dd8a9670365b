import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiNotFoundResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { KeysService } from '#rollcall/platform';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { PageQuery, readCursor, toPage } from '../http/page.js';
import { Mutation } from '../mutation/mutation.js';
import {
  checkOwnOverlap,
  IssuedKeyView,
  IssueKeyBody,
  KeyPage,
  KeyView,
  readExpiry,
  RotateKeyBody,
  toIssuedKeyView,
  toKeyView,
} from './keys.dto.js';

@ApiTags('access')
@Controller('keys')
@Permit('keys:manage')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Post()
  @Mutation({ audit: 'key.issued', record: ['name', 'roles', 'expiresAt'] })
  @ApiOperation({ summary: 'Issue an API key', description: 'The secret is in this answer and nowhere else.' })
  @ApiCreatedResponse({ type: IssuedKeyView })
  async issue(@Body() body: IssueKeyBody, @Caller() caller: Principal): Promise<IssuedKeyView> {
    return toIssuedKeyView(await this.keys.issue(body.name, body.roles, readExpiry(body), caller.id));
  }

  @Get()
  @ApiOperation({ summary: 'List API keys, newest first' })
  @ApiOkResponse({ type: KeyPage })
  async list(@Query() { limit, cursor }: PageQuery): Promise<KeyPage> {
    const rows = await this.keys.list(limit + 1, readCursor(cursor, /^\d{1,18}$/));
    return toPage(rows, limit, toKeyView, (row) => row.seq);
  }

  @Get(':id')
  @ApiOperation({ summary: 'Look at one API key' })
  @ApiOkResponse({ type: KeyView })
  @ApiNotFoundResponse({ description: 'KEY_NOT_FOUND' })
  async get(@Param('id') id: string): Promise<KeyView> {
    return toKeyView(await this.keys.get(id));
  }

  @Post(':id/rotate')
  @Mutation({ audit: 'key.rotated', record: ['overlapSeconds'], recordResult: { id: 'replacedBy' } })
  @ApiOperation({
    summary: 'Replace a secret',
    description: 'Name and roles stay; the old secret works on for the overlap.',
  })
  @ApiCreatedResponse({ type: IssuedKeyView })
  async rotate(
    @Param('id') id: string,
    @Body() body: RotateKeyBody,
    @Caller() caller: Principal,
  ): Promise<IssuedKeyView> {
    checkOwnOverlap(id, body, caller);
    return toIssuedKeyView(await this.keys.rotate(id, body.overlapSeconds * 1_000, caller.id));
  }

  @Delete(':id')
  @Mutation({ audit: 'key.revoked' })
  @ApiOperation({ summary: 'Revoke an API key', description: 'Other replicas follow within two seconds.' })
  @ApiOkResponse({ type: KeyView })
  async revoke(@Param('id') id: string): Promise<KeyView> {
    return toKeyView(await this.keys.revoke(id));
  }
}
