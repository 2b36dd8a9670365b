import { Module } from '@nestjs/common';
import { PublicUrl } from '../a2a/cards/public.url.js';
import { AgentsModule } from '../agents/agents.module.js';
import { BudgetsModule } from '../budgets/budgets.module.js';
import { McpAgents } from './mcp.agents.js';
import { McpController } from './mcp.controller.js';
import { McpExchange } from './mcp.exchange.js';
import { McpResources } from './mcp.resources.js';
import { McpServers } from './mcp.servers.js';
import { McpSubscriptions } from './mcp.subscriptions.js';
import { MetadataController, ProtectedResource } from './metadata.controller.js';
import { McpTasks } from './tasks/mcp.tasks.js';
import { TaskSubscriptions } from './tasks/task.subscriptions.js';
import { McpTools } from './tools/mcp.tools.js';
import { RegistryTools } from './tools/registry.tools.js';
import { RunActions } from './tools/run.actions.js';
import { RunTools } from './tools/run.tools.js';

/** MCP: agents, runs and budgets as tools of models. */
@Module({
  imports: [AgentsModule, BudgetsModule],
  controllers: [McpController, MetadataController],
  providers: [
    McpAgents,
    McpExchange,
    McpResources,
    McpServers,
    McpSubscriptions,
    McpTasks,
    McpTools,
    ProtectedResource,
    PublicUrl,
    RegistryTools,
    RunActions,
    RunTools,
    TaskSubscriptions,
  ],
})
export class McpModule {}
