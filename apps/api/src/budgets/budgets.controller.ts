import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { BudgetsService, FLEET, type Limit, ReconciliationStore } from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { PagedList, PageQuery } from '../http/page.js';
import { Problems } from '../http/problems.js';
import { validationFailed } from '../http/validation.error.js';
import { Mutation } from '../mutation/mutation.js';
import { maySpendOnAll } from './budgets.access.js';
import { BudgetPage, BudgetView, toBudgetView, type ViewRules } from './budget.view.js';
import type { LimitBody } from './amount.dto.js';
import {
  AdjustBody,
  BudgetParams,
  BudgetsQuery,
  ForecastQuery,
  OpenBudgetBody,
  OpenRunBody,
  TopUpBody,
} from './budgets.dto.js';
import { OPEN_BUDGET_EXAMPLES, OPEN_RUN_EXAMPLES, TOP_UP_EXAMPLES } from './budgets.examples.js';
import { VIEW_RULES } from './budgets.tokens.js';
import { ForecastView, LedgerPage, ReconciliationView, toForecastView, toLedgerEntryView } from './ledger.view.js';

const BUDGETS = new PagedList('budgets');
const LEDGER = new PagedList('ledger');
const HOUR_MS = 3_600_000;

@ApiTags('budgets')
@Controller()
export class BudgetsController {
  constructor(
    private readonly budgets: BudgetsService,
    private readonly reconciliation: ReconciliationStore,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
  ) {}

  @Post('budgets')
  @Permit('budgets:write')
  @Mutation({ audit: 'budget.opened', record: ['kind', 'subject', 'window', 'limit'] })
  @ApiOperation({
    operationId: 'budgets.open',
    summary: 'Open a budget',
    description: 'Each agent, caller and run, and the fleet, can have one budget for each window.',
  })
  @ApiBody({ type: OpenBudgetBody, examples: OPEN_BUDGET_EXAMPLES })
  @ApiCreatedResponse({ type: BudgetView, description: 'The budget is in effect.' })
  @Problems('BUDGET_EXISTS', 'INVALID_BUDGET', 'RUN_TREE_TOO_DEEP', 'BUDGET_NOT_FOUND')
  async open(@Body() { limit, low, ...body }: OpenBudgetBody, @Caller() { id: by }: Principal): Promise<BudgetView> {
    const subject = body.subject ?? (body.kind === 'fleet' ? FLEET : undefined);
    if (subject === undefined) {
      const message = `subject must name the ${body.kind} that the budget is for`;
      throw validationFailed([{ field: 'subject', message }]);
    }
    const { id } = await this.budgets.open({
      ...body,
      subject,
      limit: toLimit(limit),
      ...(low && { low: toLimit(low) }),
      by,
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
      '`budgets:spend-any`, the caller must own the parent.',
  })
  @ApiBody({ type: OpenRunBody, examples: OPEN_RUN_EXAMPLES })
  @ApiCreatedResponse({ type: BudgetView, description: 'The budget of the run.' })
  @Problems('INVALID_BUDGET', 'RUN_TREE_TOO_DEEP', 'BUDGET_NOT_FOUND', 'NOT_THE_OWNER', 'QUOTA_EXCEEDED', {
    BUDGET_EXISTS: 'The run was opened with another parent or limit.',
  })
  async openRun(@Body() body: OpenRunBody, @Caller() caller: Principal): Promise<BudgetView> {
    const { runId, parentRunId = null, limit = {} } = body;
    const { id } = maySpendOnAll(caller)
      ? await this.budgets.openRun(runId, parentRunId, toLimit(limit), caller.owner)
      : await this.budgets.openOwnRun(runId, parentRunId, toLimit(limit), caller.owner);
    return await this.view(id);
  }

  @Get('budgets')
  @Permit('budgets:read')
  @ApiOperation({ operationId: 'budgets.list', summary: 'List budgets in the order they were opened' })
  @ApiOkResponse({ type: BudgetPage, description: 'A page of budgets.' })
  @Problems('CURSOR_INVALID', 'BUDGET_NOT_FOUND')
  async list(@Query() { limit, cursor, under, ...filter }: BudgetsQuery): Promise<BudgetPage> {
    const above = under === undefined ? undefined : (await this.budgets.get(Number(under))).budget;
    const after = Number(BUDGETS.readCursor(cursor) ?? 0);
    const rows = await this.budgets.list(limit + 1, after, { ...filter, under: above });
    return BUDGETS.toPage(
      rows,
      limit,
      (reading) => toBudgetView(reading, this.rules),
      ({ budget }) => String(budget.id),
    );
  }

  @Get('budgets/reconciliation')
  @Permit('budgets:read')
  @ApiOperation({
    operationId: 'budgets.reconcile',
    summary: 'Compare all counters with the ledger',
    description: 'Reads one consistent snapshot. `discrepancies` is empty unless other programs changed the tables.',
  })
  @ApiOkResponse({ type: ReconciliationView, description: 'The result.' })
  async reconcile(): Promise<ReconciliationView> {
    return await this.reconciliation.reconcile();
  }

  @Get('budgets/:id')
  @Permit('budgets:read')
  @ApiOperation({ operationId: 'budgets.get', summary: 'Get a budget' })
  @ApiOkResponse({ type: BudgetView, description: 'The budget.' })
  @Problems('BUDGET_NOT_FOUND')
  async get(@Param() { id }: BudgetParams): Promise<BudgetView> {
    return await this.view(Number(id));
  }

  @Post('budgets/:id/topup')
  @HttpCode(200)
  @Permit('budgets:write')
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
    @Param() { id }: BudgetParams,
    @Body() { note, ...raise }: TopUpBody,
    @Caller() { id: by }: Principal,
  ): Promise<BudgetView> {
    if (!raise.tokens && !raise.microUsd) {
      const message = 'tokens or microUsd must be greater than 0';
      throw validationFailed([{ field: 'tokens', message }]);
    }
    await this.budgets.topUp(Number(id), raise, { by, note: note ?? null });
    return await this.view(Number(id));
  }

  @Post('budgets/:id/adjust')
  @HttpCode(200)
  @Permit('budgets:write')
  @Mutation({ audit: 'budget.adjusted', record: ['limit', 'used', 'note'] })
  @ApiOperation({
    operationId: 'budgets.adjust',
    summary: 'Set the limits or the usage of a budget',
    description: 'The note is written to the ledger.',
  })
  @ApiOkResponse({ type: BudgetView, description: 'The adjusted budget.' })
  @Problems('BUDGET_NOT_FOUND', 'INVALID_BUDGET')
  async adjust(
    @Param() { id }: BudgetParams,
    @Body() { limit, used, note }: AdjustBody,
    @Caller() { id: by }: Principal,
  ): Promise<BudgetView> {
    const change = { limit: definedFields(limit ?? {}), used: definedFields(used ?? {}) };
    if (Object.keys({ ...change.limit, ...change.used }).length === 0) {
      const message = 'limit or used must have tokens or microUsd';
      throw validationFailed([{ field: 'limit', message }]);
    }
    await this.budgets.adjust(Number(id), change, { by, note });
    return await this.view(Number(id));
  }

  @Get('budgets/:id/ledger')
  @Permit('budgets:read')
  @ApiOperation({ operationId: 'budgets.listLedger', summary: 'List the ledger of a budget, newest first' })
  @ApiOkResponse({ type: LedgerPage, description: 'A page of changes of the usage or the limit.' })
  @Problems('BUDGET_NOT_FOUND', 'CURSOR_INVALID')
  async ledger(@Param() { id }: BudgetParams, @Query() { limit, cursor }: PageQuery): Promise<LedgerPage> {
    const rows = await this.budgets.lines(Number(id), limit + 1, LEDGER.readCursor(cursor));
    return LEDGER.toPage(rows, limit, toLedgerEntryView, ({ seq }) => seq);
  }

  @Get('budgets/:id/forecast')
  @Permit('budgets:read')
  @ApiOperation({
    operationId: 'budgets.forecast',
    summary: 'Estimate when a budget runs out',
    description: 'The estimate uses the rate of the last hours.',
  })
  @ApiOkResponse({ type: ForecastView, description: 'The estimate.' })
  @Problems('BUDGET_NOT_FOUND')
  async forecast(@Param() { id }: BudgetParams, @Query() { hours }: ForecastQuery): Promise<ForecastView> {
    return toForecastView(await this.budgets.forecast(Number(id), hours * HOUR_MS));
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
