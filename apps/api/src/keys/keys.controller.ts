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
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Mutation } from '../mutation/mutation.js';
import {
  checkOwnOverlap,
  IssuedKeyView,
  IssueKeyBody,
  KeyPage,
  KeyView,
  RotateKeyBody,
  toIssuedKeyView,
  toKeyView,
  toWantedKey,
} from './keys.dto.js';
import { Caller, type Principal, visibleTo } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

const KEY_ID: ApiParamOptions = { name: 'id', description: 'The id of the key.', example: '4fT9sKq2Lm' };

const KEYS = new PagedList('keys');

@ApiTags('access')
@Controller('keys')
@Permit('keys:manage')
@Scope('any')
export class KeysController {
  constructor(private readonly keys: KeysService) {}

  @Post()
  @Permit('keys:manage')
  @Mutation({ audit: 'key.issued', record: ['name', 'namespace', 'roles', 'expiresAt'] })
  @ApiOperation({
    operationId: 'keys.issue',
    summary: 'Issue an API key',
    description:
      'The key belongs to `namespace`, by default to the namespace of the request. Only this response contains the secret.',
  })
  @ApiCreatedResponse({ type: IssuedKeyView, description: 'The key with its secret.' })
  @Problems('NAMESPACE_NOT_FOUND', 'NAMESPACE_FULL')
  async issue(@Body() body: IssueKeyBody, @Caller() caller: Principal): Promise<IssuedKeyView> {
    return toIssuedKeyView(await this.keys.issue(toWantedKey(body, caller), caller.id));
  }

  @Get()
  @ApiOperation({ operationId: 'keys.list', summary: 'List API keys, newest first' })
  @ApiOkResponse({ type: KeyPage, description: 'A page of keys.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor }: PageQuery, @Caller() caller: Principal): Promise<KeyPage> {
    const rows = await this.keys.list(limit + 1, KEYS.readCursor(cursor), visibleTo(caller));
    return KEYS.toPage(rows, limit, toKeyView, (row) => row.seq);
  }

  @Get(':id')
  @ApiOperation({ operationId: 'keys.get', summary: 'Get an API key' })
  @ApiParam(KEY_ID)
  @ApiOkResponse({ type: KeyView, description: 'The key, without its secret.' })
  @Problems('KEY_NOT_FOUND')
  async get(@Param('id') id: string, @Caller() caller: Principal): Promise<KeyView> {
    return toKeyView(await this.keys.get(id, visibleTo(caller)));
  }

  @Post(':id/rotate')
  @Mutation({ audit: 'key.rotated', record: ['overlapSeconds'], recordResult: { id: 'replacedBy' } })
  @ApiOperation({
    operationId: 'keys.rotate',
    summary: 'Replace an API key by a new one',
    description: 'The new key has the same name, namespace and roles. The old secret stays valid for `overlapSeconds`.',
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
    const overlapMs = body.overlapSeconds * 1_000;
    return toIssuedKeyView(await this.keys.rotate(id, overlapMs, caller.id, visibleTo(caller)));
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
  @Problems('KEY_NOT_FOUND', 'KEY_REVOKED', 'KEY_FROM_ENVIRONMENT', 'LAST_ADMIN_KEY')
  async revoke(@Param('id') id: string, @Caller() caller: Principal): Promise<KeyView> {
    return toKeyView(await this.keys.revoke(id, visibleTo(caller)));
  }
}
