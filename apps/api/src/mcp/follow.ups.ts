import type { McpCall } from './mcp.call.js';

/** The tools that continue a run. */
export interface FollowUps {
  /** Waits for the result. */
  readonly get: string;
  readonly answer: string;
}

const MAX_NAME = 64;

/** At the address of one agent, its tool does everything. */
export function followUpsOf({ agent }: McpCall): FollowUps {
  if (!agent) return { get: 'get_run', answer: 'answer_run' };
  const name = toolName(agent.agentId);
  return { get: name, answer: name };
}

/** MCP allows fewer characters in the name of a tool than Rollcall in an agentId. */
export function toolName(agentId: string): string {
  return agentId.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, MAX_NAME);
}
