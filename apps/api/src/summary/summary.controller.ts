import { Controller, Get, Inject } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { RunReader } from '#rollcall/agent-runtime';
import { DatabaseStatus, EventFeed } from '#rollcall/platform';
import { BudgetStatus, Directory, RegistryClock } from '#rollcall/registry';
import { Caller, type Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { VIEW_RULES, type ViewRules } from '../budgets/budget.view.js';
import { visibleRuns } from '../runs/run.commands.js';
import { SummaryView, toAgentCountsView, toCircuitCountsView, toRunCountsView } from './summary.view.js';

const HOUR_MS = 3_600_000;

/** What an operator sees first: how many agents, budgets and runs are in which state. */
@ApiTags('agents')
@Controller('registry/summary')
export class SummaryController {
  constructor(
    private readonly directory: Directory,
    private readonly clock: RegistryClock,
    private readonly budgets: BudgetStatus,
    private readonly runs: RunReader,
    private readonly database: DatabaseStatus,
    private readonly feed: EventFeed,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
  ) {}

  @Get()
  @Permit('agents:read')
  @ApiOperation({
    operationId: 'registry.summary',
    summary: 'Count agents, budgets and runs by their state',
    description: 'The agents are those that this replica knows, as for queries.',
  })
  @ApiOkResponse({ type: SummaryView, description: 'The counts of the namespace.' })
  async get(@Caller() caller: Principal): Promise<SummaryView> {
    const { namespace, permissions } = caller;
    const census = this.directory.census(this.clock.now(), namespace);
    const [budgets, runs, replicas] = await Promise.all([
      this.budgets.conditions(namespace, this.rules.low),
      permissions.includes('runs:read') ? this.runs.count(visibleRuns(caller), HOUR_MS) : null,
      this.database.countReplicas(),
    ]);
    return {
      agents: toAgentCountsView(census.agents(), census.lowBudget),
      circuits: toCircuitCountsView(census.circuits),
      budgets,
      runs: runs && toRunCountsView(runs),
      replicas,
      sequence: String(this.feed.position ?? 0),
    };
  }
}
