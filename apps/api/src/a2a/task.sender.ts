import type { Message } from '@a2a-js/sdk';
import { RequestMalformedError } from '@a2a-js/sdk/errors';
import { Injectable } from '@nestjs/common';
import { type Run, RunsService, RunTargetUnknownError } from '#rollcall/agent-runtime';
import { fromA2aParts } from '#rollcall/providers';
import { AgentNotFoundError } from '#rollcall/registry';
import { AuditService } from '../audit/audit.service.js';
import { IdempotencyService, type KeyedRequest } from '../idempotency/idempotency.service.js';
import { type A2aCall, actorIn, keyOf } from './a2a.call.js';
import { decisionIn } from './message.decision.js';
import { type CheckedMessage, keyedMessage } from './message.key.js';
import { startOf } from './message.target.js';
import { TaskPush } from './task.push.js';
import { TaskReader } from './task.reader.js';

type Change = () => Promise<Run>;

/**
 * Starts a run for a message, or continues the run that waits for it. The `messageId` is the idempotency key of the caller,
 * so a repeated message returns the run of the first one.
 */
@Injectable()
export class TaskSender {
  constructor(
    private readonly runs: RunsService,
    private readonly tasks: TaskReader,
    private readonly idempotency: IdempotencyService,
    private readonly audit: AuditService,
    private readonly push: TaskPush,
  ) {}

  async send(call: A2aCall, sent: CheckedMessage): Promise<Run> {
    const keyed = keyedMessage(call, sent);
    const earlier = await this.idempotency.storedFor(keyed);
    const id = earlier ? earlier.response : await this.commit(keyed, await this.withPush(call, sent));
    return await this.tasks.getUnchecked(call, String(id));
  }

  private async commit(keyed: KeyedRequest, change: Change): Promise<unknown> {
    return (await this.idempotency.onceFor(keyed, async () => (await change()).id)).response;
  }

  private async withPush(call: A2aCall, sent: CheckedMessage): Promise<Change> {
    const push = this.push.checked(call, sent.params.configuration?.taskPushNotificationConfig);
    const { taskId } = sent.message;
    const change = await (taskId ? this.continuation(call, sent.message) : this.start(call, sent));
    return async () => {
      const run = await change();
      await this.push.addTo(run, push);
      return run;
    };
  }

  private async start({ agent, caller }: A2aCall, { params, message }: CheckedMessage): Promise<Change> {
    const gone = new AgentNotFoundError(agent.agentId ?? '');
    if (agent.hasLeft) throw gone;
    const { messageId, contextId, parts } = message;
    const start = startOf(agent, caller, { ...message.metadata, ...params.metadata });
    const input = fromA2aParts(parts);
    const about = { input, messageId, ...(contextId && { conversationId: contextId }) };
    const insert = await this.runs.prepare({ ...start, ...about }).catch((error: unknown) => {
      throw error instanceof RunTargetUnknownError ? gone : error; // the agent has left since its card was read
    });
    return async () => {
      const run = await insert();
      return await this.audited('run.started', run, { agentId: run.agentId, budget: run.limit, messageId });
    };
  }

  private async continuation(call: A2aCall, message: Message): Promise<Change> {
    const { taskId, contextId, messageId } = message;
    const run = await this.tasks.get(call, taskId);
    if (contextId && contextId !== run.conversationId)
      throw new RequestMalformedError(
        'The task belongs to another contextId. Leave contextId out, or send that of the task.',
      );
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
