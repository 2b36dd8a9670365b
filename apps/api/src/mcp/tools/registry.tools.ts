import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import {
  DirectoryFollower,
  MAX_CAPABILITIES,
  MAX_LIMIT,
  type RankedCandidate,
  Ranker,
  RegistryClock,
} from '#rollcall/registry';
import { McpAgents } from '../mcp.agents.js';
import type { McpCall } from '../mcp.call.js';
import { jsonResult, type McpTool, mcpTool } from './mcp.tool.js';

const DEFAULT_LIMIT = 5;
const Names = z.array(z.string().min(1).max(100)).max(MAX_CAPABILITIES).optional();

const QUERY = z.strictObject({
  capabilities: Names.describe('The agent must have all of these capabilities, such as code.review.'),
  any: Names.describe('The agent must have at least one of these capabilities.'),
  none: Names.describe('The agent must have none of these capabilities.'),
  prefer: z.string().min(1).max(50).optional().describe('The order: cheapest, fastest, round-robin or least-loaded.'),
  fuzzy: z.boolean().optional().describe('Accept capabilities with a similar spelling.'),
  limit: z.number().int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('How many agents to return.'),
  explain: z.boolean().default(true).describe('Also return the reasons why other agents are excluded.'),
});

/** The tools that find and describe agents. */
@Injectable()
export class AgentTools {
  constructor(
    private readonly agents: McpAgents,
    private readonly ranker: Ranker,
    private readonly follower: DirectoryFollower,
    private readonly clock: RegistryClock,
  ) {}

  /** Returns the tools in the order in which clients list them. */
  all(): McpTool[] {
    return [this.find(), this.describe()];
  }

  private find(): McpTool {
    const facts = {
      name: 'find_agents',
      title: 'Find agents',
      description:
        'Finds agents that can receive work now, by capability, best first, with the reasons for the order. If no agent is found, ' +
        'the result explains what excludes each agent, and lists similar capabilities.',
      permission: 'agents:query',
      annotations: { readOnlyHint: true },
    } as const;
    return mcpTool(facts, QUERY, async (input, call) => jsonResult(await this.query(input, call)));
  }

  private describe(): McpTool {
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

  private async query(input: z.infer<typeof QUERY>, { caller: { namespace } }: McpCall): Promise<object> {
    await this.follower.refresh();
    const { capabilities: all, any, none, ...rest } = input;
    const query = { namespace, capabilities: { all, any, none }, ...rest };
    const { candidates, ...ranking } = this.ranker.rank(query, this.clock.now());
    return { agents: candidates.map(toMatch), ...ranking };
  }
}

/** The facts that a model needs to choose an agent. */
function toMatch({ rank, score, marks, reasons, agent }: RankedCandidate): object {
  const { agentId, name, capabilities, status } = agent;
  return { rank, agentId, name, capabilities, status, score, marks, reasons };
}
