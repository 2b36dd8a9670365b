import type { ServerContext } from '@modelcontextprotocol/server';
import { Inject, Injectable } from '@nestjs/common';
import { isFinalOrWaiting, type Run, RunFeed, RunReader, type RunStreamEvent } from '#rollcall/agent-runtime';
import type { Config } from '../config/config.schema.js';
import { CONFIG } from '../config/config.token.js';
import { keyOf, type McpCall } from './mcp.call.js';

/** A run, and what is known about it without a read. */
interface WaitedRun {
  readonly id: string;
  readonly run?: Run;
}

/** Waits for runs, and reports their progress if the client asked for it. */
@Injectable()
export class RunWaiter {
  constructor(
    private readonly reader: RunReader,
    private readonly feed: RunFeed,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * Returns when the run is finished, when the run waits for its caller, or when the time is over. If the client closes the connection,
   * only the wait ends: the run continues.
   */
  async wait(call: McpCall, { id, run: known }: WaitedRun, context: ServerContext, waitMs?: number): Promise<Run> {
    const limitMs = Math.min(waitMs ?? Infinity, this.config.mcp.wait);
    const key = keyOf(call, id);
    const token = context.mcpReq._meta?.progressToken;
    if (token === undefined || limitMs === 0)
      return await this.reader.wait(key, { waitMs: limitMs, signal: call.signal, ...(known && { known }) });
    const signal = AbortSignal.any([call.signal, AbortSignal.timeout(limitMs)]);
    let progress = 0;
    for await (const event of this.feed.watch(key, 0, signal)) {
      const message = progressOf(event);
      progress += 1;
      const params = { progressToken: token, progress, message };
      if (message !== undefined) await context.mcpReq.notify({ method: 'notifications/progress', params });
      if (event.type === 'state' && isFinalOrWaiting(event.run.state)) return event.run;
    }
    return await this.reader.get(key);
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
