import { ApiProperty } from '@nestjs/swagger';
import type { SkillDiagnostic } from '#rollcall/agent-runtime';

export class SkillSummary {
  @ApiProperty({ example: 'release-notes', description: 'The name of the skill.' }) name: string;
  @ApiProperty({
    example: 'Writes release notes from a list of commits. Use it when a version is published.',
    description: 'What the skill does and when to use it.',
  })
  description: string;
  @ApiProperty({ type: 'integer', example: 420, description: 'The estimated number of tokens of its text.' })
  tokens: number;
}

export class SkillView extends SkillSummary {
  @ApiProperty({ example: '1. Read the commits.\n2. Group them.', description: 'The procedure, in Markdown.' })
  body: string;
  @ApiProperty({
    type: [String],
    example: ['references/format.md'],
    description: 'The other files of the skill, as paths relative to its folder.',
  })
  files: string[];
  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    example: { license: 'Apache-2.0' },
    description: 'Other fields of its front matter. They have no effect.',
  })
  metadata: object;
}

export class SkillDiagnosticView implements SkillDiagnostic {
  @ApiProperty({
    enum: ['error', 'warning'],
    example: 'warning',
    description: 'With `error`, the skill was not loaded. With `warning`, it was loaded.',
  })
  severity: 'error' | 'warning';
  @ApiProperty({
    example: 'skills/notes/SKILL.md',
    description: 'The path of the file, relative to the folder of skills.',
  })
  file: string;
  @ApiProperty({ type: 'integer', example: 1, description: 'The line of the problem.' }) line: number;
  @ApiProperty({
    example: 'The name release-notes differs from the name of the folder, notes.',
    description: 'The problem.',
  })
  message: string;
}

export class SkillList {
  @ApiProperty({ type: [SkillSummary], description: 'All skills that were loaded, sorted by name.' })
  items: SkillSummary[];
  @ApiProperty({ type: [SkillDiagnosticView], description: 'The problems of the files.' })
  diagnostics: SkillDiagnosticView[];
}
