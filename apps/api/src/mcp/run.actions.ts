import type { ServerContext } from '@modelcontextprotocol/server';
import { Injectable } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { z } from 'zod';
import { type Run, RunNotFoundError, RunReader, type StartRun } from '#rollcall/agent-runtime';
import { message } from '#rollcall/providers';
import { validationFailed } from '../http/validation/validation.errors.js';
import { validated } from '../http/validation/validation.pipe.js';
import { RunCommands } from '../runs/run.commands.js';
import { toStartRun } from '../runs/run.request.js';
import { StartRunBody } from '../runs/runs.dto.js';
import { toFileParts } from './content.mapper.js';
import { McpAgents } from './mcp.agents.js';
import { commandOf, keyOf, type McpCall } from './mcp.call.js';
import { CONVERSATION, DECISION, KEY, LIMITS, MESSAGE, RUN_ID, TARGET, TEXT, WAIT } from './run.input.js';
import { RunWaiter } from './run.waiter.js';

export const START_INPUT = z.strictObject({
  input: TEXT.describe('What the agent shall do.'),
  ...TARGET,
  ...MESSAGE,
  ...CONVERSATION,
  ...LIMITS,
  ...KEY,
  ...WAIT,
});
export const REPLY_INPUT = z.strictObject({
  runId: RUN_ID,
  input: TEXT.optional().describe('Your answer to the question of the run.'),
  decision: DECISION.optional(),
  ...MESSAGE,
  ...KEY,
  ...WAIT,
});

type StartInput = z.infer<typeof START_INPUT>;
type ReplyInput = z.infer<typeof REPLY_INPUT>;

/** Starts, reads and answers runs, and waits for them. */
@Injectable()
export class RunActions {
  constructor(
    private readonly agents: McpAgents,
    private readonly commands: RunCommands,
    private readonly reader: RunReader,
    private readonly waiter: RunWaiter,
  ) {}

  async start(call: McpCall, given: StartInput, context: ServerContext): Promise<Run> {
    const { idempotencyKey: key, waitMs, ...content } = given;
    const messageId = key === undefined ? {} : { messageId: key };
    const request = async (): Promise<StartRun> => ({ ...(await this.requestOf(call, content)), ...messageId });
    const started = await this.commands.start(commandOf(call, { key, content }), request);
    return await this.waiter.wait(call, started, context, waitMs);
  }

  async reply(call: McpCall, given: ReplyInput, context: ServerContext): Promise<Run> {
    const { idempotencyKey: key, waitMs, ...content } = given;
    const { runId, input, data, files = [], decision } = content;
    const command = commandOf(call, { key, content });
    await this.runAt(call, runId);
    if ((input === undefined) === (decision === undefined))
      throw validationFailed([{ field: 'input', message: 'send either input or decision' }]);
    const parts = [...message(input ?? '', data).parts, ...toFileParts(files)];
    const changed = decision
      ? await this.commands.decide(command, runId, decision)
      : await this.commands.continue(command, runId, { parts });
    return await this.waiter.wait(call, changed, context, waitMs);
  }

  async get(call: McpCall, id: string, context: ServerContext, waitMs = 0): Promise<Run> {
    const run = await this.runAt(call, id);
    return await this.waiter.wait(call, { id, run }, context, waitMs);
  }

  async cancel(call: McpCall, id: string): Promise<Run> {
    const { run } = await this.commands.cancel(commandOf(call), id);
    return run ?? (await this.reader.get(keyOf(call, id)));
  }

  /** Rejects with RUN_NOT_FOUND. At the address of one agent, the runs of other agents do not exist. */
  private async runAt(call: McpCall, id: string): Promise<Run> {
    const run = await this.reader.get(keyOf(call, id));
    if (call.agent && run.agentId !== call.agent.agentId) throw new RunNotFoundError(id);
    return run;
  }

  private async requestOf(call: McpCall, given: Omit<StartInput, 'waitMs' | 'idempotencyKey'>): Promise<StartRun> {
    const { agent: name, files = [], conversationId, ...body } = given;
    const start = toStartRun(validated(plainToInstance(StartRunBody, { ...body, agent: name })), call.caller);
    const named = call.agent ?? (name === undefined ? undefined : await this.agents.get(call.caller.namespace, name));
    return {
      ...start,
      ...(named && { target: named.target }),
      ...(conversationId !== undefined && { conversationId }),
      input: [...start.input, ...toFileParts(files)],
    };
  }
}
