import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { AGENT_STATES, AgentLifecycle } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import { AuditService } from '../../audit/audit.service.js';
import { PagedList } from '../../http/page.js';
import type { McpCall } from '../mcp.call.js';
import { jsonResult, type McpTool, mcpTool } from './mcp.tool.js';

const MAX_AGENTS = 100;
const MAX_TIMEOUT_MS = 10_000;
const AGENTS = new PagedList('hosted-agents', /^[\w.:-]{1,128}$/);
const Name = z.string().min(1).max(128);

const CREATE = z.strictObject({
  definition: Name.optional().describe('The name of a definition. Send this or content.'),
  content: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('What the agent is, for an agent without a definition: description, instructions, tools, model …'),
  name: Name.optional().describe('The agentId. If absent, the name of the definition.'),
});
const LIST = z.strictObject({
  state: z.enum(AGENT_STATES).optional().describe('Only agents in this state.'),
  provider: z.string().min(1).max(100).optional().describe('Only agents of this provider.'),
  limit: z.number().int().min(1).max(MAX_AGENTS).default(MAX_AGENTS).describe('How many agents to return.'),
  cursor: z.string().max(500).optional().describe('The nextCursor of the previous result.'),
});
const SHUTDOWN = z.strictObject({
  name: Name.describe('The name of the agent.'),
  timeoutMs: z.number().int().min(0).max(MAX_TIMEOUT_MS).optional().describe('How long the shutdown may take.'),
});

/** The tools that spawn, list and shut down the agents that replicas host (S1.12). They do what the routes of /v1/runtime do. */
@Injectable()
export class HostedAgentTools {
  constructor(
    private readonly lifecycle: AgentLifecycle,
    private readonly audit: AuditService,
    private readonly db: Database,
  ) {}

  all(): McpTool[] {
    return [this.createAgent(), this.listAgents(), this.shutdownAgent()];
  }

  private createAgent(): McpTool {
    const facts = {
      name: 'create_agent',
      title: 'Create an agent',
      description:
        'Builds an agent of a definition, or of a content, and registers it under its name until it is shut down.',
      permission: 'agents:spawn',
      annotations: { destructiveHint: false },
    } as const;
    return mcpTool(facts, CREATE, async (input, { caller: { namespace, owner: by } }: McpCall) => {
      const { commit, discard } = await this.lifecycle.prepareSpawn({ ...input, namespace, by });
      try {
        return await this.db.transaction(async () => {
          const agent = await commit();
          const { name, definition, revision, provider } = agent;
          await this.audit.record('agent.spawned', { id: name, namespace }, { definition, revision, provider });
          return jsonResult(agent);
        });
      } catch (error) {
        await discard();
        throw error;
      }
    });
  }

  private listAgents(): McpTool {
    const facts = {
      name: 'list_agents',
      title: 'List hosted agents',
      description: 'Lists the agents that were created here, with their state. find_agents also finds external agents.',
      permission: 'agents:read',
      annotations: { readOnlyHint: true },
    } as const;
    return mcpTool(facts, LIST, async ({ limit, cursor, ...filter }, { caller: { namespace } }) => {
      const rows = await this.lifecycle.list(namespace, limit + 1, AGENTS.readCursor(cursor), filter);
      return jsonResult(
        AGENTS.toPage(
          rows,
          limit,
          (row) => row,
          ({ name }) => name,
        ),
      );
    });
  }

  private shutdownAgent(): McpTool {
    const facts = {
      name: 'shutdown_agent',
      title: 'Shut down an agent',
      description: 'Aborts the calls of an agent and removes it, even if it fails to close. Its definition stays.',
      permission: 'agents:spawn',
      annotations: { destructiveHint: true, idempotentHint: false },
    } as const;
    return mcpTool(facts, SHUTDOWN, async ({ name, timeoutMs }, { caller: { namespace } }) => {
      const report = await this.lifecycle.stop({ namespace, name }, timeoutMs);
      const { phase, error } = report;
      await this.audit.record('agent.shutdown', { id: name, namespace }, { phase, error });
      return { ...jsonResult(report), isError: error !== null };
    });
  }
}
