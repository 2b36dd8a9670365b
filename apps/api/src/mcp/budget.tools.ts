import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import { BUDGET_KINDS, BudgetsService } from '#rollcall/registry';
import { visibleTo } from '../auth/principal.js';
import { filteredSubjects } from '../budgets/budget.subject.js';
import { PagedList } from '../http/page.js';
import type { McpCall } from './mcp.call.js';
import { jsonResult, type McpTool, mcpTool } from './mcp.tool.js';
import { toBudgetView, VIEW_RULES, type ViewRules } from '../budgets/budget.view.js';

const BUDGETS = new PagedList('budgets');
const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;

const QUERY = z.strictObject({
  kind: z.enum(BUDGET_KINDS).optional().describe('Only budgets of this kind.'),
  subject: z.string().min(1).max(200).optional().describe('Only budgets of this agent, caller, run or namespace.'),
  limit: z.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('How many budgets to return.'),
  cursor: z.string().max(500).optional().describe('The nextCursor of the previous result.'),
});

/** The tool that lists budgets. */
@Injectable()
export class BudgetTools {
  constructor(
    private readonly budgets: BudgetsService,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
  ) {}

  all(): McpTool[] {
    const facts = {
      name: 'get_budgets',
      title: 'Get budgets',
      description: 'Lists budgets with their limit, what is used and what is left, in tokens and micro-dollars.',
      permission: 'budgets:read',
      annotations: { readOnlyHint: true },
    } as const;
    return [mcpTool(facts, QUERY, async (input, call) => jsonResult(await this.list(input, call)))];
  }

  private async list(input: z.infer<typeof QUERY>, { caller }: McpCall): Promise<object> {
    const { kind, subject, limit, cursor } = input;
    const filter = { kind, subjects: filteredSubjects(subject, caller), visible: visibleTo(caller) };
    const rows = await this.budgets.list(limit + 1, Number(BUDGETS.readCursor(cursor) ?? 0), filter);
    return BUDGETS.toPage(
      rows,
      limit,
      (reading) => toBudgetView(reading, this.rules),
      ({ budget }) => String(budget.id),
    );
  }
}
