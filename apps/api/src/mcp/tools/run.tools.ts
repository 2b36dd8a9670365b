import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { followUpsOf } from './follow.ups.js';
import { type McpTool, mcpTool } from './mcp.tool.js';
import { REPLY_INPUT, RunActions, START_INPUT } from './run.actions.js';
import { RUN_ID, WAIT } from './run.input.js';
import { toOutcome } from '../tasks/run.outcome.js';
import { toResult } from './run.result.js';

/** The tools that start, read, answer and cancel runs. */
@Injectable()
export class RunTools {
  constructor(private readonly actions: RunActions) {}

  /** Returns the tools in the order in which clients list them. */
  all(): McpTool[] {
    return [this.run(), this.get(), this.answer(), this.cancel()];
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
    return mcpTool(facts, z.strictObject({ runId: RUN_ID, ...WAIT }), async ({ runId, waitMs }, call, context) =>
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
    return mcpTool(facts, z.strictObject({ runId: RUN_ID }), async ({ runId }, call) => ({
      ...toResult(await this.actions.cancel(call, runId), followUpsOf(call)),
      isError: false,
    }));
  }
}
