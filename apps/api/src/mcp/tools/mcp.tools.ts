import { Injectable } from '@nestjs/common';
import { permit } from '../../auth/auth.guard.js';
import type { McpCall } from '../mcp.call.js';
import { HostedAgentTools } from './hosted-agent.tools.js';
import type { McpTool } from './mcp.tool.js';
import { RegistryTools } from './registry.tools.js';
import { RunTools } from './run.tools.js';

/** Lists the tools of each address in a fixed order. */
@Injectable()
export class McpTools {
  private readonly tools: readonly McpTool[];

  constructor(
    registry: RegistryTools,
    private readonly runs: RunTools,
    hosted: HostedAgentTools,
  ) {
    const found = [registry.findAgents(), registry.describeAgent()];
    this.tools = [...found, ...runs.all(), registry.getBudgets(), ...hosted.all()];
  }

  /** The tools that the permissions of the caller allow. */
  permittedTo(call: McpCall): McpTool[] {
    return this.at(call).filter(({ permission }) => call.caller.permissions.includes(permission));
  }

  /** Rejects with FORBIDDEN if the caller may not use the tool that it calls. The SDK rejects an unknown tool. */
  check(call: McpCall, toolName: unknown): void {
    const tool = this.at(call).find(({ name }) => name === toolName);
    if (tool) permit(call.caller, tool.permission);
  }

  private at({ agent }: McpCall): readonly McpTool[] {
    return agent ? [this.runs.ofAgent(agent)] : this.tools;
  }
}
