import { Body, Controller, HttpCode, Param, Post } from '@nestjs/common';
import {
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiPropertyOptional,
  ApiTags,
} from '@nestjs/swagger';
import { IsIn, IsOptional, IsString, MaxLength } from 'class-validator';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService } from '#rollcall/registry';
import { Permit } from '../../auth/route.access.js';
import { Problems } from '../../http/problems/problem.docs.js';
import { Mutation } from '../../mutation/mutation.js';
import { AgentView } from '../agent.view.js';
import { AGENT_ID } from '../agents.examples.js';
import { Caller, type Principal } from '../../auth/principal.js';

class OperatorNoteBody {
  @ApiPropertyOptional({ example: 'maintenance on node 7', description: 'The reason, for the audit log.' })
  @IsOptional()
  @IsString()
  @MaxLength(500)
  note?: string;
}

class QuarantineBody extends OperatorNoteBody {
  @ApiPropertyOptional({
    default: false,
    example: false,
    description: 'Also end the registration. The agent may register again, and stays in quarantine.',
  })
  @IsOptional()
  @IsIn([true, false])
  evict?: boolean;
}

/** Actions of operators on an agent. Each action is recorded in the audit log. */
@ApiTags('agents')
@ApiParam(AGENT_ID)
@Problems('AGENT_NOT_FOUND')
@Controller('agents')
export class OperatorActionsController {
  constructor(private readonly agents: AgentsService) {}

  @Post(':id/evict')
  @HttpCode(204)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.evicted' })
  @ApiOperation({
    operationId: 'agents.evict',
    summary: 'Evict an agent',
    description: 'The agent may register again.',
  })
  @ApiNoContentResponse({ description: 'The agent has left.' })
  async evict(@Param('id') id: string, @Caller() { namespace }: Principal): Promise<void> {
    await this.agents.remove(qualifiedId(namespace, id), 'evicted');
  }

  @Post(':id/drain')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.drained', record: ['note'] })
  @ApiOperation({
    operationId: 'agents.drain',
    summary: 'Drain an agent',
    description: 'The agent gets no new tasks. This state survives a new registration of the agent.',
  })
  @ApiOkResponse({ type: AgentView, description: 'The agent is draining.' })
  async drain(
    @Param('id') id: string,
    @Body() { note }: OperatorNoteBody,
    @Caller() { id: by, namespace }: Principal,
  ): Promise<AgentView> {
    return await this.agents.setDesiredState(qualifiedId(namespace, id), 'draining', note ?? null, by);
  }

  @Post(':id/quarantine')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.quarantined', record: ['note', 'evict'] })
  @ApiOperation({
    operationId: 'agents.quarantine',
    summary: 'Quarantine an agent',
    description:
      'Queries do not return the agent. This state survives a new registration of the agent. With `evict`, the agent leaves ' +
      'immediately with the reason `quarantined`.',
  })
  @ApiOkResponse({ type: AgentView, description: 'The agent is in quarantine.' })
  async quarantine(
    @Param('id') id: string,
    @Body() { note, evict }: QuarantineBody,
    @Caller() { id: by, namespace }: Principal,
  ): Promise<AgentView> {
    const { agents } = this;
    if (evict) return await agents.quarantineAndRemove(qualifiedId(namespace, id), note ?? null, by);
    return await agents.setDesiredState(qualifiedId(namespace, id), 'quarantined', note ?? null, by);
  }

  @Post(':id/resume')
  @HttpCode(200)
  @Permit('agents:operate')
  @Mutation({ audit: 'agent.resumed', record: ['note'] })
  @ApiOperation({ operationId: 'agents.resume', summary: 'Resume an agent that is draining or in quarantine' })
  @ApiOkResponse({ type: AgentView, description: 'The agent gets tasks again.' })
  async resume(
    @Param('id') id: string,
    @Body() { note }: OperatorNoteBody,
    @Caller() { id: by, namespace }: Principal,
  ): Promise<AgentView> {
    return await this.agents.setDesiredState(qualifiedId(namespace, id), 'active', note ?? null, by);
  }
}
