import type {
  AgentCard,
  CancelTaskRequest,
  DeleteTaskPushNotificationConfigRequest,
  GetTaskPushNotificationConfigRequest,
  GetTaskRequest,
  ListTaskPushNotificationConfigsRequest,
  ListTaskPushNotificationConfigsResponse,
  ListTasksRequest,
  ListTasksResponse,
  Message,
  SendMessageRequest,
  StreamResponse,
  SubscribeToTaskRequest,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk';
import { TaskNotCancelableError, UnsupportedOperationError } from '@a2a-js/sdk/errors';
import type { A2ARequestHandler } from '@a2a-js/sdk/server';
import { isFinal } from '#rollcall/agent-runtime';
import type { A2aCall } from './a2a.call.js';
import type { A2aServices } from './a2a.services.js';
import { isMessage } from './messages/messages.service.js';
import type { SentMessage } from './tasks/a2a.tasks.js';
import { isRefusal, rejectedTask } from './task.rejection.js';

/** Performs the operations of A2A for one request. A task is a run, so nothing is stored twice, and every replica can serve it. */
export class RunHandler implements A2ARequestHandler {
  constructor(
    private readonly services: A2aServices,
    private readonly call: A2aCall,
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
      const { messages, tasks } = this.services;
      const sent = await messages.send(this.call, params);
      if (isMessage(sent)) return sent;
      const { returnImmediately, historyLength } = configuration ?? {};
      if (returnImmediately) return await tasks.current(this.call, sent, historyLength);
      return await tasks.settled(this.call, sent, historyLength);
    } catch (error) {
      if (isRefusal(error)) return rejectedTask(error, params);
      throw error;
    }
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<StreamResponse, void, undefined> {
    let sent: SentMessage | Message;
    try {
      sent = await this.services.messages.send(this.call, params);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return yield { payload: { $case: 'task', value: rejectedTask(error, params) } };
    }
    if (isMessage(sent)) yield { payload: { $case: 'message', value: sent } };
    else yield* this.services.stream.of(this.call, sent, true);
  }

  async getTask({ id, historyLength }: GetTaskRequest): Promise<Task> {
    const { tasks } = this.services;
    return await tasks.task(await tasks.get(this.call, id), historyLength);
  }

  async listTasks(params: ListTasksRequest): Promise<ListTasksResponse> {
    return await this.services.tasks.list(this.call, params);
  }

  /** A task that is cancelled already is returned unchanged. */
  async cancelTask({ id }: CancelTaskRequest): Promise<Task> {
    const { tasks, commands } = this.services;
    const run = await tasks.get(this.call, id);
    if (isFinal(run.state) && run.state !== 'cancelled')
      throw new TaskNotCancelableError(`The task is finished (${run.state}), so it cannot be cancelled.`);
    const { run: cancelled = run } = await commands.cancel({ caller: this.call.caller, stores: 'id' }, id);
    return await tasks.task(cancelled);
  }

  async *resubscribe({ id }: SubscribeToTaskRequest): AsyncGenerator<StreamResponse, void, undefined> {
    const run = await this.services.tasks.get(this.call, id);
    if (isFinal(run.state))
      throw new UnsupportedOperationError('The task is finished, so no updates follow. Read it with GetTask.');
    yield* this.services.stream.of(this.call, run, false);
  }

  async createTaskPushNotificationConfig(params: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    return await this.services.push.create(this.call, params);
  }

  async getTaskPushNotificationConfig({
    taskId,
    id,
  }: GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    return await this.services.push.get(this.call, taskId, id);
  }

  async listTaskPushNotificationConfigs(
    params: ListTaskPushNotificationConfigsRequest,
  ): Promise<ListTaskPushNotificationConfigsResponse> {
    return await this.services.push.list(this.call, params);
  }

  async deleteTaskPushNotificationConfig({ taskId, id }: DeleteTaskPushNotificationConfigRequest): Promise<void> {
    await this.services.push.delete(this.call, taskId, id);
  }
}
