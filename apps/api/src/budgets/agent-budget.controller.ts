import { Controller, Get, Inject, Param } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { type AgentBudget, AgentsService, BudgetsService } from '#rollcall/registry';
import { Permit } from '../auth/route.access.js';
import { type BudgetView, toBudgetView, type ViewRules } from './budget.view.js';
import { BUDGET_EXAMPLE } from './budgets.examples.js';
import { VIEW_RULES } from './budgets.tokens.js';

interface AgentBudgetAnswer {
  agentId: string;
  /** As the record has it: the one of its budgets that binds. */
  budget: AgentBudget;
  budgets: BudgetView[];
}

const RECORD_EXAMPLE = { totalTokens: 500_000, usedTokens: 123_456, remaining: 376_544, source: 'langfuse' };

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
    summary: 'What an agent may still spend',
    description: 'All its budgets; the record shows the one that binds.',
  })
  @ApiOkResponse({ schema: { example: { agentId: 'builder-01', budget: RECORD_EXAMPLE, budgets: [BUDGET_EXAMPLE] } } })
  async get(@Param('id') id: string): Promise<AgentBudgetAnswer> {
    const { agentId, budget } = await this.agents.get(id);
    const readings = await this.budgets.of('agent', agentId);
    return { agentId, budget, budgets: readings.map((reading) => toBudgetView(reading, this.rules)) };
  }
}
