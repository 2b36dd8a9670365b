import { Controller, Get, Param, Query } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { DefinitionFacts, DefinitionsService } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { WholeNumberPipe } from '../http/validation/fields.js';
import { DefinitionView, DiffView, RevisionPage, toSummary } from './definition.view.js';
import { DEFINITION_NAME, DiffQuery } from './definitions.dto.js';
import { Caller, type Principal } from '../auth/principal.js';

const REVISIONS = new PagedList('revisions', /^\d{1,9}$/);

@ApiTags('runtime')
@Controller('definitions/:name')
@Permit('definitions:read')
export class RevisionsController {
  constructor(
    private readonly definitions: DefinitionsService,
    private readonly facts: DefinitionFacts,
  ) {}

  @Get('revisions')
  @ApiOperation({ operationId: 'definitions.listRevisions', summary: 'List the revisions of a definition' })
  @ApiParam(DEFINITION_NAME)
  @ApiOkResponse({ type: RevisionPage, description: 'A page of revisions.' })
  @Problems('DEFINITION_NOT_FOUND', 'CURSOR_INVALID')
  async list(
    @Param('name') name: string,
    @Query() { limit, cursor }: PageQuery,
    @Caller() { namespace }: Principal,
  ): Promise<RevisionPage> {
    const before = REVISIONS.readCursor(cursor);
    const key = { namespace, name };
    const rows = await this.definitions.revisions(key, limit + 1, before === undefined ? undefined : Number(before));
    return REVISIONS.toPage(
      rows,
      limit,
      (row) => toSummary(row, this.facts),
      ({ revision }) => String(revision),
    );
  }

  @Get('revisions/:revision')
  @ApiOperation({
    operationId: 'definitions.getRevision',
    summary: 'Get a revision of a definition',
    description: 'Also returns the revisions of a definition that was removed.',
  })
  @ApiParam(DEFINITION_NAME)
  @ApiParam({ name: 'revision', description: 'The number of the revision.', schema: { type: 'integer', example: 1 } })
  @ApiOkResponse({ type: DefinitionView, description: 'The revision.' })
  @Problems('DEFINITION_REVISION_NOT_FOUND')
  async get(
    @Param('name') name: string,
    @Param('revision', new WholeNumberPipe({ example: 3, maxDigits: 9 })) revision: number,
    @Caller() { namespace }: Principal,
  ): Promise<DefinitionView> {
    return await this.definitions.revision({ namespace, name }, revision);
  }

  @Get('diff')
  @ApiOperation({ operationId: 'definitions.diff', summary: 'Compare two revisions of a definition' })
  @ApiParam(DEFINITION_NAME)
  @ApiOkResponse({ type: DiffView, description: 'The fields that differ.' })
  @Problems('DEFINITION_NOT_FOUND', 'DEFINITION_REVISION_NOT_FOUND')
  async diff(
    @Param('name') name: string,
    @Query() { from, to }: DiffQuery,
    @Caller() { namespace }: Principal,
  ): Promise<DiffView> {
    return { changes: await this.definitions.diff({ namespace, name }, from, to) };
  }
}
