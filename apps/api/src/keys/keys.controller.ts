import { Body, Controller, Delete, Get, Param, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  type ApiParamOptions,
  ApiTags,
} from '@nestjs/swagger';
import { KeysService } from '#rollcall/platform';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { PageQuery, readCursor, toPage } from '../http/page.js';
import { Problems } from '../http/problems.js';
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

const KEY_ID: ApiParamOptions = { name: 'id', description: 'The id of the key.', example: '4fT9sKq2Lm' };

@ApiTags('access')
@Controller('keys')
@Permit('keys:manage')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Post()
  @Mutation({ audit: 'key.issued', record: ['name', 'roles', 'expiresAt'] })
  @ApiOperation({
    operationId: 'keys.issue',
    summary: 'Issue an API key',
    description: 'Only this response contains the secret.',
  })
  @ApiCreatedResponse({ type: IssuedKeyView, description: 'The key with its secret.' })
  async issue(@Body() body: IssueKeyBody, @Caller() caller: Principal): Promise<IssuedKeyView> {
    return toIssuedKeyView(await this.keys.issue(body.name, body.roles, readExpiry(body), caller.id));
  }

  @Get()
  @ApiOperation({ operationId: 'keys.list', summary: 'List API keys, newest first' })
  @ApiOkResponse({ type: KeyPage, description: 'A page of keys.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor }: PageQuery): Promise<KeyPage> {
    const rows = await this.keys.list(limit + 1, readCursor(cursor, /^\d{1,18}$/));
    return toPage(rows, limit, toKeyView, (row) => row.seq);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'keys.get', summary: 'Get an API key' })
  @ApiParam(KEY_ID)
  @ApiOkResponse({ type: KeyView, description: 'The key, without its secret.' })
  @Problems('KEY_NOT_FOUND')
  async get(@Param('id') id: string): Promise<KeyView> {
    return toKeyView(await this.keys.get(id));
  }

  @Post(':id/rotate')
  @Mutation({ audit: 'key.rotated', record: ['overlapSeconds'], recordResult: { id: 'replacedBy' } })
  @ApiOperation({
    operationId: 'keys.rotate',
    summary: 'Replace an API key by a new one',
    description: 'The new key has the same name and roles. The old secret stays valid for `overlapSeconds`.',
  })
  @ApiParam(KEY_ID)
  @ApiCreatedResponse({ type: IssuedKeyView, description: 'The new key with its secret.' })
  @Problems('KEY_NOT_FOUND', 'KEY_REVOKED', 'KEY_NOT_ACTIVE', 'KEY_FROM_ENVIRONMENT')
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
  @ApiOperation({
    operationId: 'keys.revoke',
    summary: 'Revoke an API key',
    description: 'Other replicas reject the key within two seconds.',
  })
  @ApiParam(KEY_ID)
  @ApiOkResponse({ type: KeyView, description: 'The revoked key.' })
  @Problems('KEY_NOT_FOUND', 'KEY_FROM_ENVIRONMENT', 'LAST_ADMIN_KEY')
  async revoke(@Param('id') id: string): Promise<KeyView> {
    return toKeyView(await this.keys.revoke(id));
  }
}
