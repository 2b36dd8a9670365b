import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { validationFailed } from '../http/validation/validation.errors.js';
import { toolName } from './follow.ups.js';
import type { McpAgent } from './mcp.agents.js';
import { type McpTool, mcpTool } from './mcp.tool.js';
import { RunActions } from './run.actions.js';
import { CONVERSATION, DECISION, KEY, LIMITS, MESSAGE, RUN_ID, TEXT, WAIT } from './run.input.js';
import { toOutcome } from './run.outcome.js';

const INPUT = z.strictObject({
  input: TEXT.optional().describe('What the agent shall do, or your answer to its question.'),
  ...MESSAGE,
  runId: RUN_ID.optional().describe(
    'Continues this run. With input or decision, the call answers the run; without them, it waits for the run.',
  ),
  decision: DECISION.optional(),
  ...CONVERSATION,
  ...LIMITS,
  ...KEY,
  ...WAIT,
});

/** Creates the tool for one agent. The tool starts runs, waits for them and answers their questions. */
@Injectable()
export class AgentTool {
  constructor(private readonly actions: RunActions) {}

  of({ agentId, name, description }: McpAgent): McpTool {
    const facts = {
      name: toolName(agentId),
      title: name,
      description,
      permission: 'runs:start',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    } as const;
    return mcpTool(facts, INPUT, async ({ runId, input, decision, ...rest }, call, context) => {
      const { data, files, idempotencyKey, waitMs } = rest;
      const reply = { input, decision, data, files, idempotencyKey, waitMs };
      if (runId !== undefined && (input !== undefined || decision !== undefined))
        return toOutcome(await this.actions.reply(call, { runId, ...reply }, context), call, context);
      if (runId !== undefined)
        return toOutcome(await this.actions.get(call, runId, context, waitMs ?? Infinity), call, context);
      if (input === undefined) throw validationFailed([{ field: 'input', message: 'input is required' }]);
      return toOutcome(await this.actions.start(call, { input, ...rest }, context), call, context);
    });
  }
}
