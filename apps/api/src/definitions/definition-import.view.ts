import { ApiProperty } from '@nestjs/swagger';
import type { ImportChange, ImportedFile, ImportProblem, ImportReport } from '#rollcall/agent-runtime';

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
