import { Controller, Get, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { filesOf, type Skill, SkillLibrary } from '#rollcall/agent-runtime';
import { Permit } from '../auth/route.access.js';
import { SkillList, type SkillSummary, SkillView } from './skills.dto.js';
import { Problems } from '../http/problems/problem.docs.js';

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
