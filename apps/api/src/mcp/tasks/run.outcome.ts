import type { CallToolResult, ServerContext } from '@modelcontextprotocol/server';
import { isFinal, type Run } from '#rollcall/agent-runtime';
import { capabilitiesIn, supportsTasks } from '../client.capabilities.js';
import { followUpsOf } from '../tools/follow.ups.js';
import type { McpCall } from '../mcp.call.js';
import { toResult } from '../tools/run.result.js';
import { toTask } from './task.view.js';

/** A run that is not finished becomes a task if the client supports tasks. Otherwise, the result says how to continue. */
export function toOutcome(run: Run, call: McpCall, context: ServerContext): CallToolResult {
  if (!supportsTasks(context) || !continuesAsTask(run, context)) return toResult(run, followUpsOf(call));
  return { resultType: 'task', ...toTask(run), content: [] };
}

/** If the client cannot ask its user, the question of the run is the result of the call. */
function continuesAsTask({ state }: Run, context: ServerContext): boolean {
  if (isFinal(state)) return false;
  return state !== 'waiting' || capabilitiesIn(context).elicitation !== undefined;
}
