import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { validationFailed } from '../../http/validation/validation.errors.js';
import type { McpAgent } from '../mcp.agents.js';
import { toOutcome } from '../tasks/task.view.js';
import { type McpTool, mcpTool } from './mcp.tool.js';
import { RunActions } from './run.actions.js';
import { AGENT_INPUT, REPLY_INPUT, RunId, START_INPUT, WAIT } from './run.input.js';
import { followUpsOf, toolName, toResult } from './run.result.js';

/** The tools that start, read, answer and cancel runs: four at the address of Rollcall itself, and one at the address of an agent. */
@Injectable()
export class RunTools {
  constructor(private readonly actions: RunActions) {}

  /** The tools of Rollcall itself, in the order in which clients list them. */
  all(): McpTool[] {
    return [this.run(), this.get(), this.answer(), this.cancel()];
  }

  /** The tool of one agent. It starts runs, waits for them and answers their questions. */
  ofAgent({ agentId, name, description }: McpAgent): McpTool {
    const facts = {
      name: toolName(agentId),
      title: name,
      description,
      permission: 'runs:start',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    } as const;
    return mcpTool(facts, AGENT_INPUT, async ({ runId, input, decision, ...rest }, call, context) => {
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

  private run(): McpTool {
    const facts = {
      name: 'run_agent',
      title: 'Run an agent',
      description:
        'Gives work to an agent and returns its answer. Name an agent, or the capabilities that it needs; if you name neither, the ' +
        'default agent is used. If the work takes long, the run continues, and the result contains its id: call get_run to wait for it.',
      permission: 'runs:start',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    } as const;
    return mcpTool(facts, START_INPUT, async (input, call, context) =>
      toOutcome(await this.actions.start(call, input, context), call, context),
    );
  }

  private get(): McpTool {
    const facts = {
      name: 'get_run',
      title: 'Get a run',
      description:
        'Returns the state and the answer of a run. With waitMs, it first waits until the run has an answer.',
      permission: 'runs:read',
      annotations: { readOnlyHint: true },
    } as const;
    return mcpTool(facts, z.strictObject({ runId: RunId, ...WAIT }), async ({ runId, waitMs }, call, context) =>
      toResult(await this.actions.get(call, runId, context, waitMs), followUpsOf(call)),
    );
  }

  private answer(): McpTool {
    const facts = {
      name: 'answer_run',
      title: 'Answer a run',
      description:
        'Continues a run that waits: with input, it answers the question of the run; with decision, it approves or rejects one of ' +
        'the calls that need an approval. Returns the answer of the run.',
      permission: 'runs:start',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    } as const;
    return mcpTool(facts, REPLY_INPUT, async (input, call, context) =>
      toOutcome(await this.actions.reply(call, input, context), call, context),
    );
  }

  private cancel(): McpTool {
    const facts = {
      name: 'cancel_run',
      title: 'Cancel a run',
      description: 'Stops a run and all runs that it delegated. A run that is already cancelled does not change.',
      permission: 'runs:start',
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
    } as const;
    return mcpTool(facts, z.strictObject({ runId: RunId }), async ({ runId }, call) => ({
      ...toResult(await this.actions.cancel(call, runId), followUpsOf(call)),
      isError: false,
    }));
  }
}
