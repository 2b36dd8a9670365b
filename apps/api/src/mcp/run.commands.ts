import { Injectable } from '@nestjs/common';
import { type Run, type RunDecision, RunReader, RunsService, type StartRun } from '#rollcall/agent-runtime';
import { Database } from '#rollcall/platform';
import type { ContentPart } from '#rollcall/providers';
import { AuditService } from '../audit/audit.service.js';
import { IdempotencyService, type KeyedRequest, keyedRequest } from '../idempotency/idempotency.service.js';
import { actorOf } from '../runs/run.request.js';
import { keyOf, type McpCall } from './mcp.call.js';

type Change = () => Promise<Run>;

/** A request with the idempotency key of the client. A repetition has the same key and the same content. */
export interface OnceRequest {
  readonly key?: string;
  readonly content: unknown;
}

/** Changes runs. Each change is committed together with its audit record. Requests with the same idempotency key have one effect. */
@Injectable()
export class RunCommands {
  constructor(
    private readonly runs: RunsService,
    private readonly reader: RunReader,
    private readonly idempotency: IdempotencyService,
    private readonly audit: AuditService,
    private readonly db: Database,
  ) {}

  /** `request` is not called if the key was used before. */
  async start(call: McpCall, request: () => Promise<StartRun>, once: OnceRequest): Promise<Run> {
    return await this.change(call, once, async () => {
      const insert = await this.runs.prepare(await request());
      return async () => {
        const run = await insert();
        return await this.audited('run.started', run, { agentId: run.agentId, budget: run.limit });
      };
    });
  }

  async continue(call: McpCall, id: string, parts: readonly ContentPart[], once: OnceRequest): Promise<Run> {
    const change: Change = async () =>
      await this.audited('run.continued', await this.runs.continue(keyOf(call, id), parts, actorOf(call.caller)), {});
    return await this.change(call, once, async () => await Promise.resolve(change));
  }

  async decide(call: McpCall, id: string, decision: RunDecision, once: OnceRequest): Promise<Run> {
    const { callId, inputHash, approved, reason } = decision;
    const change: Change = async () => {
      const run = await this.runs.approve(keyOf(call, id), decision, actorOf(call.caller));
      return await this.audited('run.decided', run, { callId, inputHash, approved, reason });
    };
    return await this.change(call, once, async () => await Promise.resolve(change));
  }

  async cancel(call: McpCall, id: string): Promise<Run> {
    return await this.db.transaction(async () => {
      const run = await this.runs.cancel(keyOf(call, id), actorOf(call.caller));
      return await this.audited('run.cancelled', run, {});
    });
  }

  /** `prepare` stores nothing. The function that it returns stores everything in one transaction. */
  private async change(call: McpCall, once: OnceRequest, prepare: () => Promise<Change>): Promise<Run> {
    if (once.key === undefined) return await this.db.transaction(await prepare());
    const request = keyedCall(call, once.key, once.content);
    const stored = (await this.idempotency.storedFor(request)) ?? (await this.commit(request, await prepare()));
    return await this.reader.get(keyOf(call, String(stored.response)));
  }

  private async commit(request: KeyedRequest, change: Change): Promise<{ response: unknown }> {
    return await this.idempotency.onceFor(request, async () => (await change()).id);
  }

  private async audited(action: string, run: Run, details: Record<string, unknown>): Promise<Run> {
    await this.audit.record(action, run, details);
    return run;
  }
}

function keyedCall({ caller, request, agent }: McpCall, key: string, given: unknown): KeyedRequest {
  const content = [caller.namespace, agent?.agentId ?? null, given];
  return keyedRequest({ protocol: 'mcp', caller, request, key, content });
}
