import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiParam, ApiTags } from '@nestjs/swagger';
import { qualifiedId } from '#rollcall/platform';
import { AgentsService, BudgetsService, type Limit, ReconciliationStore } from '#rollcall/registry';
import { AGENT_ID } from '../agents/agents.examples.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems/problem.docs.js';
import { validationFailed } from '../http/validation/validation.errors.js';
import { LongReads } from '../limits/long.reads.js';
import { StorageRate } from '../limits/storage.rate.js';
import { Mutation } from '../mutation/mutation.js';
import type { LimitBody } from './amount.js';
import { filteredSubjects, maySpendOnAll, newSubject } from './budget.subject.js';
import { AgentBudgetsView, BudgetPage, BudgetView, toBudgetView, VIEW_RULES, type ViewRules } from './budget.view.js';
import {
  AdjustBody,
  BudgetParams,
  BudgetsQuery,
  ForecastQuery,
  OPEN_BUDGET_EXAMPLES,
  OPEN_RUN_EXAMPLES,
  OpenBudgetBody,
  OpenRunBody,
  TOP_UP_EXAMPLES,
  TopUpBody,
} from './budgets.dto.js';
import { ForecastView, LedgerPage, ReconciliationView, toForecastView, toLedgerEntryView } from './ledger.view.js';
import { Caller, type Principal, visibleTo } from '../auth/principal.js';
import { Limits } from '../http/server/routes.js';
import { Permit, Scope } from '../auth/route.access.js';

const BUDGETS = new PagedList('budgets');
const LEDGER = new PagedList('ledger');
const HOUR_MS = 3_600_000;

@ApiTags('budgets')
@Controller()
export class BudgetsController {
  constructor(
    private readonly budgets: BudgetsService,
    private readonly agents: AgentsService,
    private readonly reconciliation: ReconciliationStore,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
    private readonly storage: StorageRate,
    private readonly reads: LongReads,
  ) {}

  @Post('budgets')
  @Permit('budgets:write')
  @Scope('any')
  @Mutation({ audit: 'budget.opened', record: ['kind', 'subject', 'window', 'limit'] })
  @ApiOperation({
    operationId: 'budgets.open',
    summary: 'Open a budget',
    description:
      'Each agent, caller, run and namespace, and the fleet (all namespaces together), can have one budget for each window. ' +
      'A budget belongs to the namespace of the request; the budget of the fleet requires a credential for all namespaces.',
  })
  @ApiBody({ type: OpenBudgetBody, examples: OPEN_BUDGET_EXAMPLES })
  @ApiCreatedResponse({ type: BudgetView, description: 'The budget is in effect.' })
  @Problems('BUDGET_EXISTS', 'INVALID_BUDGET', 'RUN_TREE_TOO_DEEP', 'BUDGET_NOT_FOUND')
  async open(@Body() body: OpenBudgetBody, @Caller() caller: Principal): Promise<BudgetView> {
    const { limit, low, parentRunId, ...rest } = body;
    const { id } = await this.budgets.open({
      ...rest,
      subject: newSubject(body.kind, body.subject, caller),
      limit: toLimit(limit),
      ...(low && { low: toLimit(low) }),
      parentRunId: parentRunId === undefined ? null : qualifiedId(caller.namespace, parentRunId),
      by: caller.id,
    });
    return await this.view(id);
  }

  @Post('budgets/runs')
  @Permit('budgets:spend')
  @Mutation({ audit: null })
  @ApiOperation({
    operationId: 'budgets.openRun',
    summary: 'Open the budget of a run',
    description:
      'For runtimes. What the run spends also counts against the limits of all runs above it. Without the permission ' +
      '`budgets:spend-any`, the caller must own the parent run.',
  })
  @ApiBody({ type: OpenRunBody, examples: OPEN_RUN_EXAMPLES })
  @ApiCreatedResponse({ type: BudgetView, description: 'The budget of the run.' })
  @Problems('INVALID_BUDGET', 'RUN_TREE_TOO_DEEP', 'BUDGET_NOT_FOUND', 'NOT_THE_OWNER', 'QUOTA_EXCEEDED', {
    BUDGET_EXISTS: 'The run was opened with another parent or limit.',
  })
  async openRun(@Body() body: OpenRunBody, @Caller() caller: Principal): Promise<BudgetView> {
    const { namespace, owner } = caller;
    this.storage.take(caller, body);
    const runId = qualifiedId(namespace, body.runId);
    const parentRunId = body.parentRunId === undefined ? null : qualifiedId(namespace, body.parentRunId);
    const limit = toLimit(body.limit ?? {});
    const { id } = maySpendOnAll(caller)
      ? await this.budgets.openRun(runId, parentRunId, limit, owner)
      : await this.budgets.openOwnRun(runId, parentRunId, limit, owner);
    return await this.view(id);
  }

  @Get('budgets')
  @Permit('budgets:read')
  @Scope('any')
  @ApiOperation({ operationId: 'budgets.list', summary: 'List budgets in the order they were opened' })
  @ApiOkResponse({ type: BudgetPage, description: 'A page of budgets.' })
  @Problems('CURSOR_INVALID', 'BUDGET_NOT_FOUND')
  async list(@Query() query: BudgetsQuery, @Caller() caller: Principal): Promise<BudgetPage> {
    const { limit, cursor, kind, subject } = query;
    const visible = visibleTo(caller);
    const under = query.under === undefined ? undefined : (await this.budgets.get(Number(query.under), visible)).budget;
    const filter = { kind, subjects: filteredSubjects(subject, caller), visible, under };
    const after = Number(BUDGETS.readCursor(cursor) ?? 0);
    const rows = await this.budgets.list(limit + 1, after, filter);
    return BUDGETS.toPage(
      rows,
      limit,
      (reading) => toBudgetView(reading, this.rules),
      ({ budget }) => String(budget.id),
    );
  }

  @Get('budgets/reconciliation')
  @Permit('budgets:read')
  @Scope('any')
  @Limits({ kind: 'streams' })
  @ApiOperation({
    operationId: 'budgets.reconcile',
    summary: 'Compare the counters of all visible budgets with the ledger',
    description: 'Reads one consistent snapshot. `discrepancies` is empty unless other programs changed the tables.',
  })
  @ApiOkResponse({ type: ReconciliationView, description: 'The result.' })
  async reconcile(@Caller() caller: Principal): Promise<ReconciliationView> {
    return await this.reads.run(caller.namespace, async () => await this.reconciliation.reconcile(visibleTo(caller)));
  }

  @Get('budgets/:id')
  @Permit('budgets:read')
  @Scope('any')
  @ApiOperation({ operationId: 'budgets.get', summary: 'Get a budget' })
  @ApiOkResponse({ type: BudgetView, description: 'The budget.' })
  @Problems('BUDGET_NOT_FOUND')
  async get(@Param() params: BudgetParams, @Caller() caller: Principal): Promise<BudgetView> {
    return await this.view(await this.visibleId(params, caller));
  }

  @Post('budgets/:id/topup')
  @HttpCode(200)
  @Permit('budgets:write')
  @Scope('any')
  @Mutation({ audit: 'budget.topped_up', record: ['tokens', 'microUsd', 'note'] })
  @ApiOperation({
    operationId: 'budgets.topUp',
    summary: 'Raise the limit of a budget',
    description: 'An exhausted agent is routable again immediately.',
  })
  @ApiBody({ type: TopUpBody, examples: TOP_UP_EXAMPLES })
  @ApiOkResponse({ type: BudgetView, description: 'The budget with the new limit.' })
  @Problems('BUDGET_NOT_FOUND', 'BUDGET_UNLIMITED', 'INVALID_BUDGET')
  async topUp(
    @Param() params: BudgetParams,
    @Body() { note, ...raise }: TopUpBody,
    @Caller() caller: Principal,
  ): Promise<BudgetView> {
    if (!raise.tokens && !raise.microUsd) {
      const message = 'tokens or microUsd must be greater than 0';
      throw validationFailed([{ field: 'tokens', message }]);
    }
    const id = await this.visibleId(params, caller);
    await this.budgets.topUp(id, raise, { by: caller.id, note: note ?? null });
    return await this.view(id);
  }

  @Post('budgets/:id/adjust')
  @HttpCode(200)
  @Permit('budgets:write')
  @Scope('any')
  @Mutation({ audit: 'budget.adjusted', record: ['limit', 'used', 'note'] })
  @ApiOperation({
    operationId: 'budgets.adjust',
    summary: 'Set the limits or the usage of a budget',
    description: 'The note is written to the ledger.',
  })
  @ApiOkResponse({ type: BudgetView, description: 'The adjusted budget.' })
  @Problems('BUDGET_NOT_FOUND', 'INVALID_BUDGET')
  async adjust(
    @Param() params: BudgetParams,
    @Body() { limit, used, note }: AdjustBody,
    @Caller() caller: Principal,
  ): Promise<BudgetView> {
    const change = { limit: definedFields(limit ?? {}), used: definedFields(used ?? {}) };
    if (Object.keys({ ...change.limit, ...change.used }).length === 0) {
      const message = 'limit or used must have tokens or microUsd';
      throw validationFailed([{ field: 'limit', message }]);
    }
    const id = await this.visibleId(params, caller);
    await this.budgets.adjust(id, change, { by: caller.id, note });
    return await this.view(id);
  }

  @Get('budgets/:id/ledger')
  @Permit('budgets:read')
  @Scope('any')
  @ApiOperation({ operationId: 'budgets.listLedger', summary: 'List the ledger of a budget, newest first' })
  @ApiOkResponse({ type: LedgerPage, description: 'A page of changes of the usage or the limit.' })
  @Problems('BUDGET_NOT_FOUND', 'CURSOR_INVALID')
  async ledger(
    @Param() params: BudgetParams,
    @Query() { limit, cursor }: PageQuery,
    @Caller() caller: Principal,
  ): Promise<LedgerPage> {
    const id = await this.visibleId(params, caller);
    const rows = await this.budgets.lines(id, limit + 1, LEDGER.readCursor(cursor));
    return LEDGER.toPage(rows, limit, toLedgerEntryView, ({ seq }) => seq);
  }

  @Get('budgets/:id/forecast')
  @Permit('budgets:read')
  @Scope('any')
  @ApiOperation({
    operationId: 'budgets.forecast',
    summary: 'Estimate when a budget runs out',
    description: 'The estimate uses the rate of spending in the last `hours` hours.',
  })
  @ApiOkResponse({ type: ForecastView, description: 'The estimate.' })
  @Problems('BUDGET_NOT_FOUND')
  async forecast(
    @Param() params: BudgetParams,
    @Query() { hours }: ForecastQuery,
    @Caller() caller: Principal,
  ): Promise<ForecastView> {
    const id = await this.visibleId(params, caller);
    return toForecastView(await this.budgets.forecast(id, hours * HOUR_MS));
  }

  @Get('agents/:id/budget')
  @Permit('budgets:read')
  @ApiOperation({
    operationId: 'agents.getBudget',
    summary: 'Get the budgets of an agent',
    description: 'Returns all budgets of the agent, and the tightest one.',
  })
  @ApiParam(AGENT_ID)
  @ApiOkResponse({ type: AgentBudgetsView, description: 'The budgets of the agent.' })
  @Problems('AGENT_NOT_FOUND')
  async ofAgent(@Param('id') id: string, @Caller() caller: Principal): Promise<AgentBudgetsView> {
    const qualified = qualifiedId(caller.namespace, id);
    const { namespace, agentId, budget } = await this.agents.get(qualified);
    const readings = await this.budgets.of('agent', qualified);
    return { namespace, agentId, budget, budgets: readings.map((reading) => toBudgetView(reading, this.rules)) };
  }

  /** Throws the same error for a budget that the caller may not see as for a budget that does not exist. */
  private async visibleId({ id }: BudgetParams, caller: Principal): Promise<number> {
    return (await this.budgets.get(Number(id), visibleTo(caller))).budget.id;
  }

  private async view(id: number): Promise<BudgetView> {
    return toBudgetView(await this.budgets.get(id), this.rules);
  }
}

function toLimit({ tokens = null, microUsd = null }: LimitBody): Limit {
  return { tokens, microUsd };
}

/** Removes absent fields, so that they are not changed. */
function definedFields<T extends object>(body: T): Partial<T> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Partial<T>;
}
