import { Inject, Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  BUDGET_KINDS,
  BudgetsService,
  DirectoryFollower,
  MAX_CAPABILITIES,
  MAX_LIMIT as MAX_AGENTS,
  type RankedCandidate,
  Ranker,
  RegistryClock,
} from '#rollcall/registry';
import { visibleTo } from '../../auth/principal.js';
import { filteredSubjects } from '../../budgets/budget.subject.js';
import { toBudgetView, VIEW_RULES, type ViewRules } from '../../budgets/budget.view.js';
import { PagedList } from '../../http/page.js';
import { McpAgents } from '../mcp.agents.js';
import type { McpCall } from '../mcp.call.js';
import { jsonResult, type McpTool, mcpTool } from './mcp.tool.js';

const DEFAULT_AGENTS = 5;
const DEFAULT_BUDGETS = 20;
const MAX_BUDGETS = 100;
const BUDGETS = new PagedList('budgets');
const Names = z.array(z.string().min(1).max(100)).max(MAX_CAPABILITIES).optional();

const AGENT_QUERY = z.strictObject({
  capabilities: Names.describe('The agent must have all of these capabilities, such as code.review.'),
  any: Names.describe('The agent must have at least one of these capabilities.'),
  none: Names.describe('The agent must have none of these capabilities.'),
  prefer: z.string().min(1).max(50).optional().describe('The order: cheapest, fastest, round-robin or least-loaded.'),
  fuzzy: z.boolean().optional().describe('Accept capabilities with a similar spelling.'),
  limit: z.number().int().min(1).max(MAX_AGENTS).default(DEFAULT_AGENTS).describe('How many agents to return.'),
  explain: z.boolean().default(true).describe('Also return the reasons why other agents are excluded.'),
});

const BUDGET_QUERY = z.strictObject({
  kind: z.enum(BUDGET_KINDS).optional().describe('Only budgets of this kind.'),
  subject: z.string().min(1).max(200).optional().describe('Only budgets of this agent, caller, run or namespace.'),
  limit: z.number().int().min(1).max(MAX_BUDGETS).default(DEFAULT_BUDGETS).describe('How many budgets to return.'),
  cursor: z.string().max(500).optional().describe('The nextCursor of the previous result.'),
});

/** The tools that read the registry: agents and budgets. */
@Injectable()
export class RegistryTools {
  constructor(
    private readonly agents: McpAgents,
    private readonly ranker: Ranker,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
    private readonly budgets: BudgetsService,
    @Inject(VIEW_RULES) private readonly rules: ViewRules,
  ) {}

  findAgents(): McpTool {
    const facts = {
      name: 'find_agents',
      title: 'Find agents',
      description:
        'Finds agents that can receive work now, by capability, best first, with the reasons for the order. If no agent is found, ' +
        'the result explains what excludes each agent, and lists similar capabilities.',
      permission: 'agents:query',
      annotations: { readOnlyHint: true },
    } as const;
    return mcpTool(facts, AGENT_QUERY, async (input, call) => jsonResult(await this.agentsFor(input, call)));
  }

  describeAgent(): McpTool {
    const facts = {
      name: 'describe_agent',
      title: 'Describe an agent',
      description:
        'Returns what is known about one agent: its description, capabilities, price, health, load and budget.',
      permission: 'agents:read',
      annotations: { readOnlyHint: true },
    } as const;
    const input = z.strictObject({ agent: z.string().min(1).max(128).describe('The agentId.') });
    return mcpTool(facts, input, async ({ agent }, { caller }) =>
      jsonResult((await this.agents.get(caller.namespace, agent)).facts),
    );
  }

  getBudgets(): McpTool {
    const facts = {
      name: 'get_budgets',
      title: 'Get budgets',
      description: 'Lists budgets with their limit, what is used and what is left, in tokens and micro-dollars.',
      permission: 'budgets:read',
      annotations: { readOnlyHint: true },
    } as const;
    return mcpTool(facts, BUDGET_QUERY, async (input, call) => jsonResult(await this.budgetsOf(input, call)));
  }

  private async agentsFor(input: z.infer<typeof AGENT_QUERY>, { caller: { namespace } }: McpCall): Promise<object> {
    await this.follower.refresh();
    const { capabilities: all, any, none, ...rest } = input;
    const query = { namespace, capabilities: { all, any, none }, ...rest };
    const { candidates, ...ranking } = this.ranker.rank(query, this.clock.now());
    return { agents: candidates.map(toMatch), ...ranking };
  }

  private async budgetsOf(input: z.infer<typeof BUDGET_QUERY>, { caller }: McpCall): Promise<object> {
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

/** The facts that a model needs to choose an agent. */
function toMatch({ rank, score, marks, reasons, agent }: RankedCandidate): object {
  const { agentId, name, capabilities, status } = agent;
  return { rank, agentId, name, capabilities, status, score, marks, reasons };
}
