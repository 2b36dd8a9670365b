import { Body, Controller, Get, HttpCode, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { FLEET, type Limit, LiveRegistry, type Reconciliation, type RegistryBudgets } from '#rollcall/registry';
import { Caller } from '../auth/caller.js';
import type { Principal } from '../auth/principal.js';
import { Permit } from '../auth/route.access.js';
import { type Page, PageQuery, readCursor, toPage } from '../http/page.js';
import { validationFailed } from '../http/validation.error.js';
import { Mutation } from '../mutation/mutation.js';
import {
  type BudgetView,
  type ForecastView,
  type LineView,
  toBudgetView,
  toForecastView,
  toLineView,
  type ViewRules,
} from './budget.view.js';
import {
  AdjustBody,
  BudgetParams,
  BudgetsQuery,
  ForecastQuery,
  type LimitBody,
  OpenBudgetBody,
  OpenRunBody,
  TopUpBody,
} from './budgets.dto.js';
import { BUDGET_EXAMPLE, FORECAST_EXAMPLE, LINE_EXAMPLE } from './budgets.examples.js';
import { VIEW_RULES } from './budgets.tokens.js';

const POSITION = /^\d{1,18}$/;
const HOUR_MS = 3_600_000;

@ApiTags('budgets')
@Controller()
export class BudgetsController {
  private readonly budgets: RegistryBudgets;

  constructor(
    registry: LiveRegistry,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
  ) {
    this.budgets = registry.budgets;
  }

  @Post('budgets')
  @Permit('budgets:write')
  @Mutation({ audit: 'budget.opened', record: ['kind', 'subject', 'window', 'limit'] })
  @ApiOperation({ summary: 'Make a budget', description: 'One of a window for each agent, caller, run and the fleet.' })
  @ApiCreatedResponse({ schema: { example: BUDGET_EXAMPLE } })
  async open(@Body() { limit, low, ...body }: OpenBudgetBody, @Caller() { id: by }: Principal): Promise<BudgetView> {
    const subject = body.subject ?? (body.kind === 'fleet' ? FLEET : undefined);
    if (subject === undefined) {
      const message = `subject must name the ${body.kind} that the budget is for`;
      throw validationFailed([{ field: 'subject', message }]);
    }
    const { id } = await this.budgets.budgets.open({
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
    summary: 'Open a run in its tree',
    description:
      'For runtimes. What the run spends counts for all runs above it, and none of their limits is exceeded.',
  })
  @ApiCreatedResponse({ schema: { example: { ...BUDGET_EXAMPLE, kind: 'run', subject: 'run-8', path: ['41'] } } })
  async openRun(@Body() body: OpenRunBody, @Caller() { id: by }: Principal): Promise<BudgetView> {
    const { runId, parentRunId = null, limit = {} } = body;
    const { id } = await this.budgets.budgets.openRun(runId, parentRunId, toLimit(limit), by);
    return await this.view(id);
  }

  @Get('budgets')
  @Permit('budgets:read')
  @ApiOperation({ summary: 'List budgets in the order they were made' })
  @ApiOkResponse({ schema: { example: { items: [BUDGET_EXAMPLE], nextCursor: null } } })
  async list(@Query() { limit, cursor, under, ...filter }: BudgetsQuery): Promise<Page<BudgetView>> {
    const above = under === undefined ? undefined : (await this.budgets.budgets.get(Number(under))).budget;
    const after = Number(readCursor(cursor, POSITION) ?? 0);
    const rows = await this.budgets.budgets.list(limit + 1, after, { ...filter, under: above });
    return toPage(
      rows,
      limit,
      (reading) => toBudgetView(reading, this.rules),
      ({ budget }) => String(budget.id),
    );
  }

  @Get('budgets/reconciliation')
  @Permit('budgets:read')
  @ApiOperation({
    summary: 'Are counters and ledger the same?',
    description: 'Sums up every ledger as of one moment. `discrepancies` is empty, or someone wrote past the ledger.',
  })
  @ApiOkResponse({ schema: { example: { checked: 17, discrepancies: [] } } })
  async reconcile(): Promise<Reconciliation> {
    return await this.budgets.reconciliation.reconcile();
  }

  @Get('budgets/:id')
  @Permit('budgets:read')
  @ApiOperation({ summary: 'Look at one budget' })
  @ApiOkResponse({ schema: { example: BUDGET_EXAMPLE } })
  async get(@Param() { id }: BudgetParams): Promise<BudgetView> {
    return await this.view(Number(id));
  }

  @Post('budgets/:id/topup')
  @HttpCode(200)
  @Permit('budgets:write')
  @Mutation({ audit: 'budget.topped_up', record: ['tokens', 'microUsd', 'note'] })
  @ApiOperation({ summary: 'Raise the limit', description: 'An exhausted agent is back in the ranking at once.' })
  @ApiOkResponse({ schema: { example: BUDGET_EXAMPLE } })
  async topUp(
    @Param() { id }: BudgetParams,
    @Body() { note, ...raise }: TopUpBody,
    @Caller() { id: by }: Principal,
  ): Promise<BudgetView> {
    if (!raise.tokens && !raise.microUsd) {
      const message = 'tokens or microUsd must be greater than 0';
      throw validationFailed([{ field: 'tokens', message }]);
    }
    await this.budgets.budgets.topUp(Number(id), raise, { by, note: note ?? null });
    return await this.view(Number(id));
  }

  @Post('budgets/:id/adjust')
  @HttpCode(200)
  @Permit('budgets:write')
  @Mutation({ audit: 'budget.adjusted', record: ['limit', 'used', 'note'] })
  @ApiOperation({
    summary: 'Set limits or use to exactly this',
    description: 'With a reason, which stays in the ledger.',
  })
  @ApiOkResponse({ schema: { example: BUDGET_EXAMPLE } })
  async adjust(
    @Param() { id }: BudgetParams,
    @Body() { limit, used, note }: AdjustBody,
    @Caller() { id: by }: Principal,
  ): Promise<BudgetView> {
    const change = { ...(limit && { limit: given(limit) }), ...(used && { used: given(used) }) };
    await this.budgets.budgets.adjust(Number(id), change, { by, note });
    return await this.view(Number(id));
  }

  @Get('budgets/:id/ledger')
  @Permit('budgets:read')
  @ApiOperation({ summary: 'Every change of its use or limit, newest first' })
  @ApiOkResponse({ schema: { example: { items: [LINE_EXAMPLE], nextCursor: null } } })
  async ledger(@Param() { id }: BudgetParams, @Query() { limit, cursor }: PageQuery): Promise<Page<LineView>> {
    const rows = await this.budgets.budgets.lines(Number(id), limit + 1, readCursor(cursor, POSITION));
    return toPage(rows, limit, toLineView, ({ seq }) => seq);
  }

  @Get('budgets/:id/forecast')
  @Permit('budgets:read')
  @ApiOperation({ summary: 'When does it run out?', description: 'At the rate of the last hours. Null: not in sight.' })
  @ApiOkResponse({ schema: { example: FORECAST_EXAMPLE } })
  async forecast(@Param() { id }: BudgetParams, @Query() { hours }: ForecastQuery): Promise<ForecastView> {
    return toForecastView(await this.budgets.budgets.forecast(Number(id), hours * HOUR_MS));
  }

  private async view(id: number): Promise<BudgetView> {
    return toBudgetView(await this.budgets.budgets.get(id), this.rules);
  }
}

function toLimit({ tokens = null, microUsd = null }: LimitBody): Limit {
  return { tokens, microUsd };
}

/** Without what was left out: that stays as it is. */
function given<T extends object>(body: T): Partial<T> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Partial<T>;
}
