import { Body, Controller, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { DefinitionImports } from '#rollcall/agent-runtime';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { AcceptsArchive } from '../http/body/archive-body.parser.js';
import { Effect } from '../mutation/effect.js';
import { Mutation } from '../mutation/mutation.js';
import { ImportReportView } from './definition-import.view.js';
import { ImportBody, ImportQuery } from './definition-imports.dto.js';
import { IMPORT_EXAMPLES } from './definitions.examples.js';
import { importFilesOf } from './import.files.js';
import { Limits } from '../http/server/routes.js';
import { Problems } from '../http/problems/problem.docs.js';

const RECORDED = { dryRun: 'dryRun', loaded: 'loaded', warned: 'warned', rejected: 'rejected' };

@ApiTags('runtime')
@Controller('definition-imports')
export class DefinitionImportsController {
  constructor(private readonly imports: DefinitionImports) {}

  @Post()
  @HttpCode(200)
  @Permit('definitions:write')
  @Limits({ body: 'batch' })
  @AcceptsArchive()
  @Mutation({ audit: 'definition.imported', prepares: true, recordResult: RECORDED })
  @ApiOperation({
    operationId: 'definitions.import',
    summary: 'Import definitions from spec files',
    description:
      'Registers or replaces the definitions in spec files. A file with errors does not stop the import of other files; the report ' +
      'contains the result of each file. Instead of JSON, the body can be a tar archive that is compressed with gzip (`Content-Type: application/gzip`), with at most ' +
      '4 MB of unpacked data. Definitions that the files do not contain are not removed.',
  })
  @ApiBody({ type: ImportBody, examples: IMPORT_EXAMPLES })
  @ApiOkResponse({ type: ImportReportView, description: 'The result of each file.' })
  @Problems('ARCHIVE_INVALID', 'DEFINITION_IMPORT_TOO_LARGE')
  async import(
    @Body() body: unknown,
    @Query() { strict, dryRun }: ImportQuery,
    @Caller() { namespace, id: by }: Principal,
  ): Promise<Effect<ImportReportView>> {
    const prepared = await this.imports.prepare({ namespace, by, files: importFilesOf(body), strict });
    return new Effect(async () => {
      const report = dryRun ? await this.imports.preview(prepared) : await this.imports.write(prepared);
      return { dryRun, ...report } as ImportReportView;
    });
  }
}
