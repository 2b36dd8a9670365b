import { Body, Controller, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { plainToInstance } from 'class-transformer';
import { DefinitionImports } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { AcceptsArchive, ArchiveBody, type ArchivedFile } from '../http/body/archive-body.parser.js';
import type { FieldError } from '../http/problems/api.error.js';
import { Problems } from '../http/problems/problem.docs.js';
import { Limits } from '../http/server/routes.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { validated } from '../http/validation/validation.pipe.js';
import { Effect } from '../mutation/effect.js';
import { Mutation } from '../mutation/mutation.js';
import {
  IMPORT_EXAMPLES,
  ImportBody,
  ImportQuery,
  ImportReportView,
  MAX_FILES,
  MAX_PATH_LENGTH,
} from './definition-imports.dto.js';
import { Caller, type Principal } from '../auth/principal.js';

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
  @Problems('ARCHIVE_INVALID', 'DEFINITION_IMPORT_TOO_LARGE', 'QUOTA_EXCEEDED')
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

/** The files of an import, from JSON or from an archive. */
function importFilesOf(body: unknown): readonly ArchivedFile[] {
  const { files: given } = body instanceof ArchiveBody ? body : validated(plainToInstance(ImportBody, body ?? {}));
  // tar and find write a.md as ./a.md
  const files = given.map(({ path, content }) => ({ path: path.replace(/^(?:\.\/)+/, ''), content }));
  const errors = pathErrors(files);
  if (files.length > MAX_FILES)
    errors.push({ field: 'files', message: `files must have at most ${MAX_FILES} elements` });
  if (errors.length > 0) throw validationFailed(errors);
  return files;
}

function pathErrors(files: readonly ArchivedFile[]): FieldError[] {
  const seen = new Set<string>();
  return files.flatMap(({ path }, index) => {
    const field = `files.${index}.path`;
    const isDuplicate = seen.has(path);
    seen.add(path);
    if (isDuplicate) return [{ field, message: `${field} is also the path of an earlier file` }];
    return isRelativePath(path)
      ? []
      : [{ field, message: `${field} must be a relative path such as team/a.md, without .. and \\` }];
  });
}

function isRelativePath(path: string): boolean {
  if (path.length > MAX_PATH_LENGTH || path.includes('\\') || path.includes('\0')) return false;
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');
}
