import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiProperty, ApiTags } from '@nestjs/swagger';
import { filesOf, type Skill, type SkillDiagnostic, SkillLibrary } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { Problems } from '../http/problems/problem.docs.js';

class SkillSummary {
  @ApiProperty({ example: 'release-notes', description: 'The name of the skill.' }) name: string;
  @ApiProperty({
    example: 'Writes release notes from a list of commits. Use it when a version is published.',
    description: 'What the skill does and when to use it.',
  })
  description: string;
  @ApiProperty({ type: 'integer', example: 420, description: 'The estimated number of tokens of its text.' })
  tokens: number;
}

class SkillView extends SkillSummary {
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

class SkillDiagnosticView implements SkillDiagnostic {
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

class SkillList {
  @ApiProperty({ type: [SkillSummary], description: 'All skills that were loaded, sorted by name.' })
  items: SkillSummary[];
  @ApiProperty({ type: [SkillDiagnosticView], description: 'The problems of the files.' })
  diagnostics: SkillDiagnosticView[];
}

@ApiTags('runtime')
@Controller('skills')
@Permit('tools:read')
export class SkillsController {
  constructor(private readonly library: SkillLibrary) {}

  @Get()
  @ApiOperation({ operationId: 'skills.list', summary: 'List skills' })
  @ApiOkResponse({
    type: SkillList,
    description: 'All skills of this replica, and the problems that were found in skill files.',
  })
  list(): SkillList {
    return { items: this.library.list().map(toSummary), diagnostics: [...this.library.diagnostics] };
  }

  @Get(':name')
  @ApiOperation({ operationId: 'skills.get', summary: 'Get a skill' })
  @ApiParam({ name: 'name', example: 'release-notes', description: 'The name of the skill.' })
  @Problems('SKILL_NOT_FOUND')
  @ApiOkResponse({ type: SkillView, description: 'The skill with its text and the names of its files.' })
  async get(@Param('name') name: string): Promise<SkillView> {
    const skill = this.library.get(name);
    return { ...toSummary(skill), body: skill.body, files: await filesOf(skill), metadata: skill.metadata };
  }
}

function toSummary({ name, description, tokens }: Skill): SkillSummary {
  return { name, description, tokens };
}
