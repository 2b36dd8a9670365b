import { randomUUID } from 'node:crypto';
import {
  type AgentCard,
  type CancelTaskRequest,
  type DeleteTaskPushNotificationConfigRequest,
  type GetTaskPushNotificationConfigRequest,
  type GetTaskRequest,
  type ListTaskPushNotificationConfigsRequest,
  type ListTaskPushNotificationConfigsResponse,
  type ListTasksRequest,
  type ListTasksResponse,
  type Message,
  Role,
  type SendMessageRequest,
  type StreamResponse,
  type SubscribeToTaskRequest,
  type Task,
  type TaskPushNotificationConfig,
  TaskState,
} from '@a2a-js/sdk';
import { TaskNotCancelableError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { isFinal, RuntimeError } from '#rollcall/agent-runtime';
import { RUN_EXTENSION, textPart } from '#rollcall/providers';
import { RunCommands } from '../runs/run.commands.js';
import { type Address, type IncomingCall, IncomingCalls } from './incoming.calls.js';
import { isMessage, MessagesService } from './messages/messages.service.js';
import type { Binding } from './protocol.version.js';
import { TaskPush } from './push/push.configs.js';
import { A2aTasks, type SentMessage } from './tasks/a2a.tasks.js';
import { messageOf } from './tasks/task.mapper.js';
import { TaskStream } from './tasks/task.stream.js';

/** The errors that reject a task before it begins: no agent can receive work, no amount can be reserved, or the agent is busy. */
const REFUSALS: ReadonlySet<string> = new Set(['RUN_TARGET_UNAVAILABLE', 'SPENDING_LIMIT_REACHED', 'AGENT_BUSY']);

/** Performs the operations of A2A for one request. A task is a run, so nothing is stored twice, and every replica can serve it. */
export class A2aHandler implements A2ARequestHandler {
  constructor(
    private readonly call: IncomingCall,
    private readonly messages: MessagesService,
    private readonly tasks: A2aTasks,
    private readonly commands: RunCommands,
    private readonly stream: TaskStream,
    private readonly push: TaskPush,
  ) {}

  async getAgentCard(): Promise<AgentCard> {
    return await Promise.resolve(this.call.agent.card);
  }

  async getAuthenticatedExtendedAgentCard(): Promise<AgentCard> {
    return await this.call.agent.extended();
  }

  /** Returns when the run is finished or waits for its caller, unless the client asks for an immediate response. */
  async sendMessage(params: SendMessageRequest): Promise<Message | Task> {
    const { configuration } = params;
    try {
      const sent = await this.messages.send(this.call, params);
      if (isMessage(sent)) return sent;
      const { returnImmediately, historyLength } = configuration ?? {};
      if (returnImmediately) return await this.tasks.current(this.call, sent, historyLength);
      return await this.tasks.settled(this.call, sent, historyLength);
    } catch (error) {
      if (isRefusal(error)) return rejectedTask(error, params);
      throw error;
    }
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    let sent: SentMessage | Message;
    try {
      sent = await this.messages.send(this.call, params);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return yield { payload: { $case: 'task', value: rejectedTask(error, params) } };
    }
    if (isMessage(sent)) yield { payload: { $case: 'message', value: sent } };
    else yield* this.stream.of(this.call, sent, true);
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    return await this.tasks.task(await this.tasks.get(this.call, id), historyLength);
  }

  async listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    return await this.tasks.list(this.call, params);
  }

  /** A task that is cancelled already is returned unchanged. */
  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    const run = await this.tasks.get(this.call, id);
    if (isFinal(run.state) && run.state !== 'cancelled')
      throw new TaskNotCancelableError(`The task is finished (${run.state}), so it cannot be cancelled.`);
    const { run: cancelled = run } = await this.commands.cancel({ caller: this.call.caller, stores: 'id' }, id);
    return await this.tasks.task(cancelled);
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const run = await this.tasks.get(this.call, id);
    if (isFinal(run.state))
      throw new UnsupportedOperationError('The task is finished, so no updates follow. Read it with GetTask.');
    yield* this.stream.of(this.call, run, false);
  }

  async createTaskPushNotificationConfig(params: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    return await this.push.create(this.call, params);
  }

  async getTaskPushNotificationConfig({
    taskId,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    return await this.push.get(this.call, taskId, id);
  }

  async listTaskPushNotificationConfigs(
    params: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return await this.push.list(this.call, params);
  }

  async deleteTaskPushNotificationConfig({ taskId, id }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    await this.push.delete(this.call, taskId, id);
  }
}

/** Creates the handler of each request. */
@Injectable()
export class A2aHandlers {
  constructor(
    private readonly calls: IncomingCalls,
    private readonly messages: MessagesService,
    private readonly tasks: A2aTasks,
    private readonly commands: RunCommands,
    private readonly stream: TaskStream,
    private readonly push: TaskPush,
  ) {}

  /** Rejects if the agent does not exist, or does not offer the protocol version that the client uses. */
  async open(reply: FastifyReply, address: Address, binding: Binding): Promise<A2aHandler> {
    const call = await this.calls.accept(reply, address, binding);
    return new A2aHandler(call, this.messages, this.tasks, this.commands, this.stream, this.push);
  }
}

function isRefusal(error: unknown): error is RuntimeError {
  return error instanceof RuntimeError && REFUSALS.has(error.code);
}

/** The task of a message that was refused before work began. There is no run, so the task is not stored. */
function rejectedTask({ code, message, retryAfterMs }: RuntimeError, { message: sent }: SendMessageRequest): Task {
  const id = randomUUID().replaceAll('-', '');
  const contextId = sent?.contextId || id;
  const place = { taskId: id, contextId };
  return {
    id,
    contextId,
    status: {
      state: TaskState.TASK_STATE_REJECTED,
      message: messageOf(`${id}-rejected`, { ...place, role: Role.ROLE_AGENT, parts: [textPart(message)] }),
      timestamp: new Date().toISOString(),
    },
    artifacts: [],
    history: sent ? [{ ...sent, ...place }] : [],
    metadata: { [RUN_EXTENSION]: { code, ...(retryAfterMs !== undefined && { retryAfterMs }) } },
  };
}
