import { Body, Controller, Delete, Get, HttpCode, Param, Post, Put, Query } from '@nestjs/common';
import {
  ApiBody,
  ApiCreatedResponse,
  ApiHeader,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiTags,
} from '@nestjs/swagger';
import { DefinitionFacts, type Definition, DefinitionsService, EffectiveDefinitions } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { IfMatch, SendsVersion, type VersionFormat } from '../http/etag.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { CapabilitiesView, DefinitionPage, DefinitionView, toSummary } from './definition.view.js';
import {
  DEFINITION_NAME,
  PREVIEW_EXAMPLES,
  REGISTER_DEFINITION_EXAMPLES,
  RegisterDefinitionBody,
  REPLACE_EXAMPLES,
  ReplaceDefinitionBody,
} from './definitions.dto.js';
import { EffectiveView } from './effective.view.js';
import { Effect } from '../mutation/effect.js';
import { Mutation, Repeatable } from '../mutation/mutation.js';
import { Caller, type Principal } from '../auth/principal.js';

const SOURCE = 'rest';
const ETAG = { ETag: { description: 'The revision in quotes, for `If-Match`.', schema: { type: 'string' } } } as const;
const REVISION: VersionFormat<number> = {
  pattern: /^[1-9]\d{0,8}$/,
  parse: Number,
  expected: 'the revision of the definition in quotes, for example "3"',
};
const toVersioned = (definition: Definition): { version: number; body: Definition } => ({
  version: definition.revision,
  body: definition,
});
const DEFINITIONS = new PagedList('definitions', /^[\w.:-]{1,128}$/);

@ApiTags('runtime')
@Controller('definitions')
export class DefinitionsController {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly effective: EffectiveDefinitions,
    private readonly facts: DefinitionFacts,
  ) {}

  @Post()
  @Permit('definitions:write')
  @Mutation({
    audit: 'definition.registered',
    prepares: true,
    record: ['name'],
    recordResult: { revision: 'revision', hash: 'hash' },
  })
  @SendsVersion(toVersioned)
  @ApiOperation({ operationId: 'definitions.register', summary: 'Register a definition of an agent' })
  @ApiBody({ type: RegisterDefinitionBody, examples: REGISTER_DEFINITION_EXAMPLES })
  @ApiCreatedResponse({ type: DefinitionView, description: 'The first revision.', headers: ETAG })
  @Problems(
    'DEFINITION_EXISTS',
    'DEFINITION_CONFIGURED',
    'DEFINITION_INVALID',
    'DEFINITION_NAME_INVALID',
    'AGENT_ALREADY_EXISTS',
    'QUOTA_EXCEEDED',
  )
  async register(
    @Body() { name, content }: RegisterDefinitionBody,
    @Caller() { namespace, id: by }: Principal,
  ): Promise<Effect<DefinitionView>> {
    return new Effect(await this.definitions.prepareRegister({ namespace, name, content, source: SOURCE, by }));
  }

  @Get()
  @Permit('definitions:read')
  @ApiOperation({ operationId: 'definitions.list', summary: 'List definitions by name' })
  @ApiOkResponse({ type: DefinitionPage, description: 'A page of definitions.' })
  @Problems('CURSOR_INVALID')
  async list(@Query() { limit, cursor }: PageQuery, @Caller() { namespace }: Principal): Promise<DefinitionPage> {
    const rows = await this.definitions.list(namespace, limit + 1, DEFINITIONS.readCursor(cursor));
    return DEFINITIONS.toPage(
      rows,
      limit,
      (row) => toSummary(row, this.facts),
      ({ name }) => name,
    );
  }

  @Post('effective')
  @HttpCode(200)
  @Permit('definitions:read')
  @Repeatable()
  @ApiOperation({
    operationId: 'definitions.preview',
    summary: 'Explain a definition that is not registered',
    description:
      'Validates the definition and returns what its agent would use. Nothing is stored. The name is required, because the agent with ' +
      'that name may have budgets.',
  })
  @ApiBody({ type: RegisterDefinitionBody, examples: PREVIEW_EXAMPLES })
  @ApiOkResponse({ type: EffectiveView, description: 'What an agent of the definition would use.' })
  @Problems('DEFINITION_INVALID', 'DEFINITION_NAME_INVALID')
  async preview(
    @Body() { name, content }: RegisterDefinitionBody,
    @Caller() { namespace }: Principal,
  ): Promise<EffectiveView> {
    const key = { namespace, name };
    return await this.effective.of(key, await this.definitions.check({ ...key, content }));
  }

  @Get(':name')
  @Permit('definitions:read')
  @ApiOperation({ operationId: 'definitions.get', summary: 'Get a definition' })
  @ApiParam(DEFINITION_NAME)
  @ApiOkResponse({ type: DefinitionView, description: 'The current revision.', headers: ETAG })
  @Problems('DEFINITION_NOT_FOUND')
  @SendsVersion(toVersioned)
  async get(@Param('name') name: string, @Caller() { namespace }: Principal): Promise<DefinitionView> {
    return await this.definitions.get({ namespace, name });
  }

  @Put(':name')
  @Permit('definitions:write')
  @Mutation({ audit: 'definition.replaced', prepares: true, recordResult: { revision: 'revision', hash: 'hash' } })
  @SendsVersion(toVersioned)
  @ApiOperation({
    operationId: 'definitions.replace',
    summary: 'Replace a definition',
    description: 'Adds a revision, unless the content is the same. Calls in progress finish with the old revision.',
  })
  @ApiParam(DEFINITION_NAME)
  @ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'The `ETag` of the definition as it was read: its `revision` in quotes.',
    schema: { type: 'string' },
  })
  @ApiBody({ type: ReplaceDefinitionBody, examples: REPLACE_EXAMPLES })
  @ApiOkResponse({
    type: DefinitionView,
    description: 'The new revision, or the current one if nothing differs.',
    headers: ETAG,
  })
  @Problems('DEFINITION_NOT_FOUND', 'DEFINITION_INVALID', 'DEFINITION_CONFIGURED', 'DEFINITION_CHANGED')
  @Problems('QUOTA_EXCEEDED')
  async replace(
    @Param('name') name: string,
    @Body() { content }: ReplaceDefinitionBody,
    @Caller() { namespace, id: by }: Principal,
    @IfMatch(REVISION) expected: number | undefined,
  ): Promise<Effect<DefinitionView>> {
    return new Effect(
      await this.definitions.prepareReplace({ namespace, name, content, source: SOURCE, by }, expected),
    );
  }

  @Delete(':name')
  @HttpCode(204)
  @Permit('definitions:write')
  @Mutation({ audit: 'definition.unregistered' })
  @ApiOperation({
    operationId: 'definitions.unregister',
    summary: 'Remove a definition',
    description: 'Its revisions are kept. A later definition with the same name continues their numbers.',
  })
  @ApiParam(DEFINITION_NAME)
  @ApiNoContentResponse({ description: 'The definition is removed.' })
  @Problems('DEFINITION_NOT_FOUND', 'DEFINITION_CONFIGURED')
  async unregister(@Param('name') name: string, @Caller() { namespace, id: by }: Principal): Promise<void> {
    await this.definitions.unregister({ namespace, name, source: SOURCE, by });
  }

  @Get(':name/capabilities')
  @Permit('definitions:read')
  @ApiOperation({ operationId: 'definitions.getCapabilities', summary: 'Get the capabilities of a definition' })
  @ApiParam(DEFINITION_NAME)
  @ApiOkResponse({ type: CapabilitiesView, description: 'The valid capabilities.' })
  @Problems('DEFINITION_NOT_FOUND')
  async capabilities(@Param('name') name: string, @Caller() { namespace }: Principal): Promise<CapabilitiesView> {
    return { capabilities: await this.definitions.capabilities({ namespace, name }) };
  }

  @Get(':name/effective')
  @Permit('definitions:read')
  @ApiOperation({
    operationId: 'definitions.getEffective',
    summary: 'Explain a definition',
    description: 'Returns the model, tools, skills, limits and budgets that its agent would use now.',
  })
  @ApiParam(DEFINITION_NAME)
  @ApiOkResponse({ type: EffectiveView, description: 'What an agent of the definition would use.' })
  @Problems('DEFINITION_NOT_FOUND', 'MODEL_PRESET_UNKNOWN')
  async explain(@Param('name') name: string, @Caller() { namespace }: Principal): Promise<EffectiveView> {
    const key = { namespace, name };
    return await this.effective.of(key, (await this.definitions.get(key)).content);
  }
}
