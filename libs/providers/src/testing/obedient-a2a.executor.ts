import { Message, Task, TaskState } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from '@a2a-js/sdk/server';
import type { AgentScenario } from './agent-scenario.js';

/** An A2A agent that does what the text of its message says. */
export class ObedientExecutor implements AgentExecutor {
  begun = 0;
  dropConnection: () => void = () => undefined;
  /** Of the agents that are gone; whoever asks about one gets no answer. */
  readonly crashed: string[] = [];
  private readonly hanging = new Map<string, () => void>();

  /** Tasks that wait for a cancel. */
  get busy(): number {
    return this.hanging.size;
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    this.begun += 1;
    const scenario = JSON.parse(textOf(context.userMessage)) as A2aScenario;
    const { taskId, contextId } = context;
    const place = { taskId, contextId };
    const begun = { id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } };
    bus.publish(AgentEvent.task(context.task ?? Task.fromJSON(begun)));
    for (const text of 'pieces' in scenario ? scenario.pieces : []) bus.publish(artifact(place, text));
    switch (scenario.does) {
      case 'answer':
        bus.publish(status(place, TaskState.TASK_STATE_COMPLETED, '', scenario.usage && { usage: scenario.usage }));
        break;
      case 'fail':
        bus.publish(status(place, TaskState.TASK_STATE_FAILED, scenario.message));
        break;
      case 'end as':
        bus.publish(status(place, TaskState[scenario.state], scenario.says ?? ''));
        break;
      case 'crash':
        await new Promise((resolve) => setImmediate(resolve)); // so that its pieces are on their way
        this.crashed.push(taskId);
        this.dropConnection();
        break;
      case 'hang':
        await new Promise<void>((resolve) => this.hanging.set(taskId, resolve));
        bus.publish(status(place, TaskState.TASK_STATE_CANCELED, ''));
    }
    bus.finished();
  };

  cancelTask = async (taskId: string): Promise<void> => {
    this.hanging.get(taskId)?.();
    this.hanging.delete(taskId);
  };

  stopAll(): void {
    for (const taskId of this.hanging.keys()) void this.cancelTask(taskId);
  }
}

export type A2aScenario = AgentScenario | { does: 'end as'; state: keyof typeof TaskState; says?: string };

interface Place {
  taskId: string;
  contextId: string;
}

function artifact(place: Place, text: string): AgentEvent {
  const part = Message.fromJSON({ messageId: 'x', role: 'ROLE_AGENT', parts: [{ text }] }).parts;
  const whole = { artifactId: 'answer', name: '', description: '', parts: part, metadata: undefined, extensions: [] };
  return AgentEvent.artifactUpdate({ ...place, artifact: whole, append: true, lastChunk: false, metadata: undefined });
}

type AgentEvent = ReturnType<typeof AgentEvent.message>;

function status(place: Place, state: TaskState, text: string, metadata?: Record<string, unknown>): AgentEvent {
  const message = text === '' ? undefined : Message.fromJSON({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] });
  return AgentEvent.statusUpdate({ ...place, status: { state, message, timestamp: undefined }, metadata });
}

function textOf(message: Message): string {
  return message.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
}
