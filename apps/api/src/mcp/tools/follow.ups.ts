import type { McpCall } from '../mcp.call.js';

/** The names of the tools that continue a run. */
export interface FollowUps {
  /** The tool that waits for the result. */
  readonly get: string;
  /** The tool that answers questions. */
  readonly answer: string;
}

const MAX_NAME = 64;

/** At the address of one agent, the tool of this agent both waits for results and answers questions. */
export function followUpsOf({ agent }: McpCall): FollowUps {
  if (!agent) return { get: 'get_run', answer: 'answer_run' };
  const name = toolName(agent.agentId);
  return { get: name, answer: name };
}

/** MCP allows fewer characters in the name of a tool than Rollcall allows in an agentId. */
export function toolName(agentId: string): string {
  return agentId.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, MAX_NAME);
}
