import { Body, Controller, Delete, Get, HttpCode, Param, Patch, Post, Query } from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  type ApiParamOptions,
  ApiTags,
} from '@nestjs/swagger';
import { NAMESPACE_PATTERN, NamespaceNotFoundError, NamespacesService } from '#rollcall/platform';
import { PagedList, PageQuery } from '../http/page.js';
import { Mutation } from '../mutation/mutation.js';
import {
  CreateNamespaceBody,
  givenLimits,
  NamespacePage,
  NamespaceView,
  toNamespaceSummary,
  toNamespaceView,
  UpdateNamespaceBody,
} from './namespaces.dto.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Caller, type Principal } from '../auth/principal.js';
import { Permit, Scope } from '../auth/route.access.js';

const NAME: ApiParamOptions = { name: 'name', description: 'The name of the namespace.', example: 'team-a' };
const NAMESPACES = new PagedList('namespaces', NAMESPACE_PATTERN);

@ApiTags('access')
@Controller('namespaces')
export class NamespacesController {
  constructor(private readonly namespaces: NamespacesService) {}

  @Post()
  @Permit('namespaces:manage')
  @Scope('installation')
  @Mutation({ audit: 'namespace.created', record: ['name', 'description', 'limits'] })
  @ApiOperation({
    operationId: 'namespaces.create',
    summary: 'Create a namespace',
    description: 'Requires a credential for all namespaces.',
  })
  @ApiCreatedResponse({ type: NamespaceView, description: 'The namespace.' })
  @Problems('NAMESPACE_EXISTS')
  async create(@Body() body: CreateNamespaceBody, @Caller() caller: Principal): Promise<NamespaceView> {
    const { name, description = null } = body;
    const fields = { description, limits: givenLimits(body) };
    return toNamespaceView(await this.namespaces.create(name, fields, caller.id));
  }

  @Get()
  @Permit('namespaces:read')
  @Scope('installation')
  @ApiOperation({
    operationId: 'namespaces.list',
    summary: 'List namespaces by name',
    description: 'Requires a credential for all namespaces; `GET /v1/me` lists the namespaces of any other credential.',
  })
  @ApiOkResponse({ type: NamespacePage, description: 'A page of namespaces.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor }: PageQuery): Promise<NamespacePage> {
    const rows = await this.namespaces.list(limit + 1, NAMESPACES.readCursor(cursor));
    return NAMESPACES.toPage(rows, limit, toNamespaceSummary, ({ name }) => name);
  }

  @Get(':name')
  @Permit('namespaces:read')
  @Scope('any')
  @ApiOperation({ operationId: 'namespaces.get', summary: 'Get a namespace with its limits and present use' })
  @ApiParam({ ...NAME, example: 'default' })
  @ApiOkResponse({ type: NamespaceView, description: 'The namespace.' })
  @Problems('NAMESPACE_NOT_FOUND')
  async get(@Param('name') name: string, @Caller() caller: Principal): Promise<NamespaceView> {
    if (!caller.hasAllNamespaces && !caller.namespaces.includes(name)) throw new NamespaceNotFoundError(name);
    return toNamespaceView(await this.namespaces.get(name));
  }

  @Patch(':name')
  @Permit('namespaces:manage')
  @Scope('installation')
  @Mutation({ audit: 'namespace.changed', record: ['description', 'limits'] })
  @ApiOperation({
    operationId: 'namespaces.update',
    summary: 'Change the description or the limits of a namespace',
    description: 'Requires a credential for all namespaces. All replicas apply new limits within two seconds.',
  })
  @ApiParam(NAME)
  @ApiOkResponse({ type: NamespaceView, description: 'The changed namespace.' })
  @Problems('NAMESPACE_NOT_FOUND')
  async update(@Param('name') name: string, @Body() body: UpdateNamespaceBody): Promise<NamespaceView> {
    const { description } = body;
    return toNamespaceView(await this.namespaces.update(name, { description, limits: givenLimits(body) }));
  }

  @Delete(':name')
  @HttpCode(204)
  @Permit('namespaces:manage')
  @Scope('installation')
  @Mutation({ audit: 'namespace.deleted' })
  @ApiOperation({
    operationId: 'namespaces.delete',
    summary: 'Delete an empty namespace',
    description:
      'Requires a credential for all namespaces. First deregister the agents, revoke the keys, remove the webhooks and definitions, cancel the unfinished runs, and ' +
      'settle or release the held reservations of the namespace. Its budgets, events and audit records remain, so its name cannot be used again.',
  })
  @ApiParam(NAME)
  @ApiNoContentResponse({ description: 'The namespace is deleted.' })
  @Problems('NAMESPACE_NOT_FOUND', 'NAMESPACE_NOT_EMPTY', 'NAMESPACE_PERMANENT')
  async delete(@Param('name') name: string): Promise<void> {
    await this.namespaces.delete(name);
  }
}
