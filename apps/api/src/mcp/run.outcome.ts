import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import { capabilitiesIn, supportsTasks } from './client.capabilities.js';
import { followUpsOf } from './follow.ups.js';
import type { McpCall } from './mcp.call.js';
import { toResult } from './run.result.js';
import { toTask } from './task.view.js';

/** A run that is not finished becomes a task if the client supports tasks. Otherwise the result says how to go on. */
export function toOutcome(run: Run, call: McpCall, context: ServerContext): CallToolResult {
  if (!supportsTasks(context) || !continuesAsTask(run, context)) return toResult(run, followUpsOf(call));
  return { resultType: 'task', ...toTask(run), content: [] };
}

/** A client that cannot ask its user gets the question of the run as a result. */
function continuesAsTask({ state }: Run, context: ServerContext): boolean {
  if (isFinal(state)) return false;
  return state !== 'waiting' || capabilitiesIn(context).elicitation !== undefined;
}
