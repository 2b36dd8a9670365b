import { createHash } from 'node:crypto';
import { Message, type SendMessageRequest } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import { type Run, RunReader, RunsService } from '#rollcall/agent-runtime';
import { fromA2aParts } from '#rollcall/providers';
import { AuditService } from '../audit/audit.service.js';
import { IdempotencyService, type KeyedRequest, secretOf } from '../idempotency/idempotency.service.js';
import { type A2aCall, actorIn, keyOf } from './a2a.call.js';
import { decisionIn } from './message.decision.js';
import { startOf } from './message.target.js';
import { TaskReader } from './task.reader.js';

type Change = () => Promise<Run>;

/**
 * Turns a message into a run: a new one, or the continuation of one that waits. The `messageId` is the idempotency key of the caller,
 * so a repeated message returns the run of the first one.
 */
@Injectable()
export class TaskSender {
  constructor(
    private readonly runs: RunsService,
    private readonly reader: RunReader,
    private readonly tasks: TaskReader,
    private readonly idempotency: IdempotencyService,
    private readonly audit: AuditService,
  ) {}

  async send(call: A2aCall, params: SendMessageRequest): Promise<Run> {
    const message = checked(params);
    const keyed = keyedRequest(call, params, message);
    const earlier = await this.idempotency.storedFor(keyed);
    const id = earlier ? earlier.response : await this.commit(keyed, await this.prepare(call, params, message));
    return await this.reader.get(keyOf(call, String(id)));
  }

  private async commit(keyed: KeyedRequest, change: Change): Promise<unknown> {
    return (await this.idempotency.onceFor(keyed, async () => (await change()).id)).response;
  }

  private async prepare(call: A2aCall, params: SendMessageRequest, message: Message): Promise<Change> {
    return message.taskId ? await this.continuation(call, message) : await this.start(call, params, message);
  }

  private async start({ agent, caller }: A2aCall, params: SendMessageRequest, message: Message): Promise<Change> {
    const { messageId, contextId, parts } = message;
    const start = startOf(agent, caller, { ...message.metadata, ...params.metadata });
    const insert = await this.runs.prepare({
      ...start,
      input: fromA2aParts(parts),
      messageId,
      ...(contextId && { conversationId: contextId }),
    });
    return async () => {
      const run = await insert();
      return await this.audited('run.started', run, { agentId: run.agentId, budget: run.limit, messageId });
    };
  }

  private async continuation(call: A2aCall, message: Message): Promise<Change> {
    const { taskId, contextId, messageId } = message;
    const run = await this.tasks.find(call, taskId);
    if (contextId && contextId !== run.conversationId)
      throw new RequestMalformedError('The task belongs to another contextId. Leave contextId out, or send its own.');
    const key = keyOf(call, taskId);
    const parts = fromA2aParts(message.parts);
    const decision = decisionIn(parts);
    if (decision) {
      const { callId, inputHash, approved } = decision;
      return async () =>
        await this.audited('run.decided', await this.runs.approve(key, decision, actorIn(call)), {
          callId,
          inputHash,
          approved,
        });
    }
    return async () =>
      await this.audited('run.continued', await this.runs.continue(key, parts, actorIn(call), messageId), {
        messageId,
      });
  }

  private async audited(action: string, run: Run, details: Record<string, unknown>): Promise<Run> {
    await this.audit.record(action, run, details);
    return run;
  }
}

/** The codec replaces missing fields by defaults. Version 0.3 has other names for the fields, so they are checked here, too. */
function checked({ message, configuration }: SendMessageRequest): Message {
  if (!message?.messageId) throw new RequestMalformedError('message.messageId is required.');
  if (message.parts.length === 0) throw new RequestMalformedError('message.parts must have at least one part.');
  const { historyLength = 0 } = configuration ?? {};
  if (!Number.isInteger(historyLength) || historyLength < 0)
    throw new RequestMalformedError('historyLength must be a whole number from 0.');
  return message;
}

function keyedRequest({ caller, agent, request }: A2aCall, params: SendMessageRequest, message: Message): KeyedRequest {
  const target = { namespace: caller.namespace, agentId: agent.agentId, metadata: params.metadata };
  return {
    callerId: caller.id,
    key: `a2a:${createHash('sha256').update(message.messageId).digest('hex')}`,
    content: JSON.stringify([target, Message.toJSON(message)]),
    secret: secretOf(request),
  };
}
