import { ApiProperty, ApiPropertyOptional } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsString, MaxLength } from 'class-validator';
import type { ImportChange, ImportedFile, ImportProblem, ImportReport } from '#rollcall/agent-runtime';
import { MaxBytes, NestedList, QueryFlag } from '../http/validation/fields.js';

export const MAX_FILES = 1_000;
export const MAX_PATH_LENGTH = 512;
const MAX_FILE_BYTES = 65_536;

export class ImportQuery {
  @ApiPropertyOptional({
    type: Boolean,
    default: false,
    example: false,
    description: 'Whether a file with a warning is rejected.',
  })
  @QueryFlag()
  strict: boolean = false;

  @ApiPropertyOptional({
    type: Boolean,
    default: false,
    example: false,
    description: 'Whether only the report is returned, and nothing is changed.',
  })
  @QueryFlag()
  dryRun: boolean = false;
}

class ImportFile {
  @ApiProperty({
    maxLength: MAX_PATH_LENGTH,
    example: 'reviewer.md',
    description: 'A relative path. Only files that end in `.md` or `.json` are read.',
  })
  @MaxLength(MAX_PATH_LENGTH)
  @IsString()
  path: string;

  @ApiProperty({
    maxLength: MAX_FILE_BYTES,
    example: '---\nname: reviewer\ndescription: Reviews code.\n---\nYou review code.\n',
    description: 'The text of the file. It has at most 65,536 bytes in UTF-8.',
  })
  @MaxBytes(MAX_FILE_BYTES)
  @IsString()
  content: string;
}

export class ImportBody {
  @ApiProperty({ type: [ImportFile], minItems: 1, maxItems: MAX_FILES, description: 'Spec files.' })
  @NestedList(() => ImportFile)
  @ArrayMinSize(1)
  @ArrayMaxSize(MAX_FILES)
  files: ImportFile[];
}

const SPEC_FILE = `---
name: release-writer
description: Writes release notes. Use it before a release.
tools: clock
---

You write release notes.
`;

export const IMPORT_EXAMPLES = {
  file: { summary: 'One spec file', value: { files: [{ path: 'release-writer.md', content: SPEC_FILE }] } },
};

class ImportProblemView implements ImportProblem {
  @ApiProperty({ type: 'integer', example: 4, description: 'The line in the file.' }) line: number;
  @ApiProperty({
    example: 'These tools do not exist, so they are dropped from tools: Read.',
    description: 'A sentence that describes the problem.',
  })
  message: string;
}

class ImportedDefinitionView {
  @ApiProperty({ example: 'reviewer', description: 'The name.' }) name: string;
  @ApiProperty({
    enum: ['registered', 'replaced', 'unchanged'],
    example: 'registered',
    description: 'What the import did, or would do. `unchanged`: the definition already has this content.',
  })
  change: ImportChange;
}

class ImportedFileView implements ImportedFile {
  @ApiProperty({ example: 'reviewer.md', description: 'The path.' }) path: string;
  @ApiPropertyOptional({
    example: 'The file does not begin with front matter (---), so it contains no agent.',
    description: 'Why the file contains no definition, if it is neither loaded nor rejected.',
  })
  skipped?: string;
  @ApiProperty({ type: [ImportedDefinitionView], description: 'The definitions that are loaded.' })
  definitions: ImportedDefinitionView[];
  @ApiProperty({ type: [ImportProblemView], description: 'What was dropped or changed.' })
  warnings: ImportProblemView[];
  @ApiProperty({ type: [ImportProblemView], description: 'Why the file, or a definition of it, is rejected.' })
  errors: ImportProblemView[];
}

export class ImportReportView implements ImportReport {
  @ApiProperty({ example: false, description: 'Whether this was a dry run, which changes nothing.' }) dryRun: boolean;
  @ApiProperty({ type: 'integer', example: 1, description: 'Files with loaded definitions.' }) loaded: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'Files with warnings.' }) warned: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'Files with errors.' }) rejected: number;
  @ApiProperty({ type: 'integer', example: 0, description: 'Files that contain no definition, such as a README.' })
  skipped: number;
  @ApiProperty({ type: [ImportedFileView], description: 'One result for each file, in the same order.' })
  files: ImportedFileView[];
}
