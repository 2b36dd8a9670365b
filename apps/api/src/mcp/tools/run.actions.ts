import type { ServerContext } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import {
  isFinalOrWaiting,
  type Run,
  RunFeed,
  RunNotFoundError,
  RunReader,
  type RunStreamEvent,
  type StartRun,
} from '#rollcall/agent-runtime';
import { message } from '#rollcall/providers';
import type { Config } from '../../config/config.schema.js';
import { CONFIG } from '../../config/config.token.js';
import { validationFailed } from '../../http/validation/validation.errors.js';
import { validated } from '../../http/validation/validation.pipe.js';
import { RunCommands, runKeyOf, toStartRun } from '../../runs/run.commands.js';
import { StartRunBody } from '../../runs/runs.dto.js';
import { McpAgents } from '../mcp.agents.js';
import { type McpCall, mcpCommandOf } from '../mcp.call.js';
import { type ReplyInput, type StartInput, toFileParts } from './run.input.js';

/** A run, and what is known about it without a read. */
interface WaitedRun {
  readonly id: string;
  readonly run?: Run;
}

/** Starts, reads and answers runs, and waits for them. A wait reports the progress of the run if the client asked for it. */
@Injectable()
export class RunActions {
  constructor(
    private readonly agents: McpAgents,
    private readonly commands: RunCommands,
    private readonly reader: RunReader,
    private readonly feed: RunFeed,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async start(call: McpCall, given: StartInput, context: ServerContext): Promise<Run> {
    const { idempotencyKey: key, waitMs, ...content } = given;
    const messageId = key === undefined ? {} : { messageId: key };
    const request = async (): Promise<StartRun> => ({ ...(await this.requestOf(call, content)), ...messageId });
    const started = await this.commands.start(mcpCommandOf(call, { key, content }), request);
    return await this.wait(call, started, context, waitMs);
  }

  async reply(call: McpCall, given: ReplyInput, context: ServerContext): Promise<Run> {
    const { idempotencyKey: key, waitMs, ...content } = given;
    const { runId, input, data, files = [], decision } = content;
    const command = mcpCommandOf(call, { key, content });
    await this.runAt(call, runId);
    if ((input === undefined) === (decision === undefined))
      throw validationFailed([{ field: 'input', message: 'send either input or decision' }]);
    const parts = [...message(input ?? '', data).parts, ...toFileParts(files)];
    const changed = decision
      ? await this.commands.decide(command, runId, decision)
      : await this.commands.continue(command, runId, { parts });
    return await this.wait(call, changed, context, waitMs);
  }

  async get(call: McpCall, id: string, context: ServerContext, waitMs = 0): Promise<Run> {
    const run = await this.runAt(call, id);
    return await this.wait(call, { id, run }, context, waitMs);
  }

  async cancel(call: McpCall, id: string): Promise<Run> {
    const { run } = await this.commands.cancel(mcpCommandOf(call), id);
    return run ?? (await this.reader.get(runKeyOf(call.caller, id)));
  }

  /**
   * Returns when the run is finished, when the run waits for its caller, or when the time is over. If the client closes the connection,
   * only the wait ends: the run continues.
   */
  private async wait(
    call: McpCall,
    { id, run: known }: WaitedRun,
    context: ServerContext,
    waitMs?: number,
  ): Promise<Run> {
    const limitMs = Math.min(waitMs ?? Infinity, this.config.mcp.wait);
    const key = runKeyOf(call.caller, id);
    const token = context.mcpReq._meta?.progressToken;
    if (token === undefined || limitMs === 0)
      return await this.reader.wait(key, { waitMs: limitMs, signal: call.signal, ...(known && { known }) });
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(limitMs)]);
    let progress = 0;
    for await (const event of this.feed.watch(key, 0, signal)) {
      const text = progressOf(event);
      progress += 1;
      const params = { progressToken: token, progress, message: text };
      if (text !== undefined) await context.mcpReq.notify({ method: 'notifications/progress', params });
      if (event.type === 'state' && isFinalOrWaiting(event.run.state)) return event.run;
    }
    return await this.reader.get(key);
  }

  /** Rejects with RUN_NOT_FOUND. At the address of one agent, the runs of other agents do not exist. */
  private async runAt(call: McpCall, id: string): Promise<Run> {
    const run = await this.reader.get(runKeyOf(call.caller, id));
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

/** Pieces of the answer are not reported: the client gets the whole answer as the result. */
function progressOf(event: RunStreamEvent): string | undefined {
  if (event.type === 'state') return `The run is ${event.run.state}.`;
  if (event.type === 'progress') return event.text;
  if (event.type !== 'step') return undefined;
  const { step } = event.stored;
  if (step.type === 'tool-called') return `Calls the tool ${step.call.name}.`;
  if (step.type === 'tool-call') return `Calls the tool ${step.name}.`;
  return step.type === 'model-replied' ? `Turn ${step.turn} of the model is complete.` : undefined;
}
