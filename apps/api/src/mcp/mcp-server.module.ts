import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/agents.module.js';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { McpAgents } from './mcp.agents.js';
import { McpExchange } from './mcp.exchange.js';
import { McpResources } from './mcp.resources.js';
import { McpServers } from './mcp.servers.js';
import { McpSubscriptions } from './mcp.subscriptions.js';
import { McpTasks } from './tasks/mcp.tasks.js';
import { TaskSubscriptions } from './tasks/task.subscriptions.js';
import { McpTools } from './tools/mcp.tools.js';
import { HostedAgentTools } from './tools/hosted-agent.tools.js';
import { RegistryTools } from './tools/registry.tools.js';
import { RunActions } from './tools/run.actions.js';
import { RunTools } from './tools/run.tools.js';

export { McpExchange };

/**
 * MCP: agents, runs and budgets as tools of models. It is loaded at the first request of an MCP client, so its providers have no
 * lifecycle hooks and no periodic work: Nest and our scheduler look for them at the start.
 */
@Module({
  imports: [AgentsModule, BudgetsModule],
  providers: [
    McpAgents,
    McpExchange,
    McpResources,
    McpServers,
    McpSubscriptions,
    McpTasks,
    McpTools,
    HostedAgentTools,
    RegistryTools,
    RunActions,
    RunTools,
    TaskSubscriptions,
  ],
})
export class McpServerModule {}
