import { Controller, Get, Inject, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService, BudgetsService } from '#rollcall/registry';
import { AGENT_ID } from '../agents/agents.examples.js';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { AgentBudgetsView, toBudgetView, type ViewRules } from './budget.view.js';
import { VIEW_RULES } from './budgets.tokens.js';
import { Problems } from '../http/problems/problem.docs.js';

@ApiTags('budgets')
@Controller('agents')
export class AgentBudgetController {
  constructor(
    private readonly agents: AgentsService,
    private readonly budgets: BudgetsService,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
  ) {}

  @Get(':id/budget')
  @Permit('budgets:read')
  @ApiOperation({
    operationId: 'agents.getBudget',
    summary: 'Get the budgets of an agent',
    description: 'Returns all budgets of the agent, and the tightest one.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: AgentBudgetsView, description: 'The budgets of the agent.' })
  @Problems('AGENT_NOT_FOUND')
  async get(@Param('id') id: string, @Caller() caller: Principal): Promise<AgentBudgetsView> {
    const qualified = qualifiedId(caller.namespace, id);
    const { namespace, agentId, budget } = await this.agents.get(qualified);
    const readings = await this.budgets.of('agent', qualified);
    return { namespace, agentId, budget, budgets: readings.map((reading) => toBudgetView(reading, this.rules)) };
  }
}
