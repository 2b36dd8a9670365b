import { ApiProperty } from '@nestjs/swagger';
import { localIdOf } from '#rollcall/platform';
import {
  available,
  type Budget,
  BUDGET_KINDS,
  BUDGET_WINDOWS,
  type BudgetCondition,
  type BudgetReading,
  conditionOf,
  type LowBudgetPolicy,
  namespaceOfBudget,
} from '#rollcall/registry';
import { AgentBudgetView } from '../agents/agent.view.js';
import { PageView } from '../http/page.js';
import { AmountView, LimitView } from './amount.js';

/** Injection token of the `ViewRules` of budgets. */
export const VIEW_RULES = Symbol('budget view rules');

/** What a view depends on in addition to the budget. */
export interface ViewRules {
  low: LowBudgetPolicy;
  /** Counts of a polled source are stale after this time. */
  staleAfterMs: number;
}

const CONDITIONS: BudgetCondition[] = ['ample', 'low', 'exhausted'];

class BudgetUsageView {
  @ApiProperty({ type: AmountView, description: 'Spent by the subject itself.' }) own: AmountView;
  @ApiProperty({ type: AmountView, description: 'Spent by the subject and all runs below it.' }) subtree: AmountView;
}

/** How current the count of a polled usage source is. */
class FreshnessView {
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: '2026-02-24T10:29:00.000Z',
    description: 'The last successful poll; null before the first poll.',
  })
  refreshedAt: string | null;
  @ApiProperty({
    type: 'integer',
    nullable: true,
    example: 60_000,
    description: 'The time since the last successful poll.',
  })
  ageMs: number | null;
  @ApiProperty({ example: false, description: 'Whether the count is too old to be trusted.' }) stale: boolean;
  @ApiProperty({
    type: String,
    nullable: true,
    example: null,
    description: 'The error of the last poll, if it failed.',
  })
  error: string | null;
}

export class BudgetView {
  @ApiProperty({ example: '42', description: 'The id of the budget.' }) id: string;
  @ApiProperty({ example: 'default', description: 'The namespace of the budget; `*` for the fleet.' })
  namespace: string;
  @ApiProperty({ enum: BUDGET_KINDS, description: 'Whose spending the budget limits.' }) kind: string;
  @ApiProperty({ example: 'builder-01', description: 'The agent, caller, run or namespace; `fleet` for the fleet.' })
  subject: string;
  @ApiProperty({ enum: BUDGET_WINDOWS, example: 'daily', description: 'How often the usage starts again at 0.' })
  window: string;
  @ApiProperty({ example: 'UTC', description: 'The time zone in which a day or month starts.' }) timeZone: string;
  @ApiProperty({ format: 'date-time', example: '2026-02-24T00:00:00.000Z', description: 'Start of the window.' })
  windowStart: string;
  @ApiProperty({
    type: String,
    format: 'date-time',
    nullable: true,
    example: '2026-02-25T00:00:00.000Z',
    description: 'End of the window; null if the window has no end.',
  })
  windowEnd: string | null;
  @ApiProperty({ enum: CONDITIONS, description: 'How much is left.' }) condition: BudgetCondition;
  @ApiProperty({ type: LimitView, description: 'What may be spent in a window.' }) limit: LimitView;
  @ApiProperty({ type: LimitView, description: 'Below this amount, `condition` is `low`. Null: the settings decide.' })
  low: LimitView;
  @ApiProperty({ type: BudgetUsageView, description: 'What is spent in this window.' }) usage: BudgetUsageView;
  @ApiProperty({ type: AmountView, description: 'What calls in progress have reserved.' }) reserved: AmountView;
  @ApiProperty({ type: LimitView, description: 'What can still be reserved. Null means unlimited.' })
  available: LimitView;
  @ApiProperty({ type: [String], example: [], description: 'The budgets of the runs above, starting with the root.' })
  path: string[];
  @ApiProperty({ example: 'ledger', description: 'Who counts the usage: `ledger`, `reported` or a usage source.' })
  source: string;
  @ApiProperty({
    type: FreshnessView,
    nullable: true,
    description: 'For a usage source that is polled: how current its count is. Null for other sources.',
  })
  freshness: FreshnessView | null;
  @ApiProperty({ format: 'date-time', example: '2026-02-24T10:00:00.000Z', description: 'When the budget was opened.' })
  createdAt: string;
}

export class BudgetPage extends PageView {
  @ApiProperty({ type: [BudgetView], description: 'Budgets in the order in which they were opened.' })
  items: BudgetView[];
}

export class AgentBudgetsView {
  @ApiProperty({ example: 'default', description: 'The namespace of the agent.' }) namespace: string;
  @ApiProperty({ example: 'builder-01', description: 'The agent.' }) agentId: string;
  @ApiProperty({ type: AgentBudgetView, description: 'The tightest budget, as in the record of the agent.' })
  budget: AgentBudgetView;
  @ApiProperty({ type: [BudgetView], description: 'All budgets of the agent.' }) budgets: BudgetView[];
}

const COUNTED_HERE = new Set(['ledger', 'reported']);

export function toBudgetView({ budget, createdAt, ...fresh }: BudgetReading, rules: ViewRules): BudgetView {
  const { kind, window, timeZone, limit, low, source, windowEnd } = budget;
  return {
    id: String(budget.id),
    namespace: namespaceOfBudget(budget),
    kind,
    subject: localIdOf(budget.subject),
    window,
    timeZone,
    windowStart: new Date(budget.windowStart).toISOString(),
    windowEnd: windowEnd === null ? null : new Date(windowEnd).toISOString(),
    condition: conditionOf(budget, rules.low),
    limit,
    low,
    usage: usageOf(budget),
    reserved: budget.reserved,
    available: available(budget),
    path: budget.path.map(String),
    source,
    freshness: COUNTED_HERE.has(source) ? null : freshnessOf(fresh, rules),
    createdAt: createdAt.toISOString(),
  };
}

function usageOf({ own, used }: Budget): BudgetUsageView {
  return { own, subtree: used };
}

function freshnessOf(
  { refreshedAt, refreshError, now }: Pick<BudgetReading, 'refreshedAt' | 'refreshError' | 'now'>,
  { staleAfterMs }: ViewRules,
): FreshnessView {
  const ageMs = refreshedAt === null ? null : Math.max(0, now - refreshedAt.getTime());
  const stale = ageMs === null || ageMs > staleAfterMs;
  return { refreshedAt: refreshedAt?.toISOString() ?? null, ageMs, stale, error: refreshError };
}
