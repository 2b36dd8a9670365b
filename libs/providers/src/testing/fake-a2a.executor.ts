import { Message, Part, Task, TaskState, type Artifact } from '@a2a-js/sdk';
import { AgentEvent, type AgentExecutor, type ExecutionEventBus, type RequestContext } from '@a2a-js/sdk/server';
import type { AgentUsage, ArtifactChunk } from '../agents/agent.js';
import type { ContentPart } from '../agents/content.part.js';
import type { AgentScenario } from './agent-scenario.js';

/** A fake A2A agent that executes the scenario in the text of its message. */
export class FakeA2aExecutor implements AgentExecutor {
  begun = 0;
  dropConnection: () => void = () => undefined;
  /** Gives the authorization that a task waits for. */
  authorize: () => void = () => undefined;
  /** The ids of crashed tasks. Requests for them get no response. */
  readonly crashed: string[] = [];
  private readonly hanging = new Map<string, () => void>();

  /** The number of tasks that wait for a cancellation. */
  get busy(): number {
    return this.hanging.size;
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    this.begun += 1;
    const scenario = JSON.parse(textOf(context.userMessage)) as A2aScenario;
    const { taskId, contextId } = context;
    const ids = { taskId, contextId };
    const begun = { id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } };
    bus.publish(AgentEvent.task(context.task ?? Task.fromJSON(begun)));
    for (const text of 'pieces' in scenario ? scenario.pieces : []) bus.publish(answerPiece(ids, text));
    switch (scenario.does) {
      case 'answer':
        bus.publish(status(ids, TaskState.TASK_STATE_COMPLETED, '', usageOf(scenario)));
        break;
      case 'echo':
        bus.publish(artifact(ids, { artifactId: 'echo', parts: context.userMessage.parts.slice(1) }));
        bus.publish(status(ids, TaskState.TASK_STATE_COMPLETED, ''));
        break;
      case 'produce':
        for (const chunk of scenario.chunks) bus.publish(artifactChunk(ids, chunk));
        bus.publish(status(ids, TaskState.TASK_STATE_COMPLETED, ''));
        break;
      case 'show context':
        bus.publish(artifact(ids, { artifactId: 'context', parts: contextPartsOf(context.userMessage) }));
        bus.publish(status(ids, TaskState.TASK_STATE_COMPLETED, ''));
        break;
      case 'refuse':
        bus.publish(status(ids, TaskState.TASK_STATE_REJECTED, scenario.message, usageOf(scenario)));
        break;
      case 'stop': {
        const { reason, detail } = scenario;
        const metadata = { stopped: { reason, detail }, ...usageOf(scenario) };
        bus.publish(status(ids, TaskState.TASK_STATE_FAILED, '', metadata));
        break;
      }
      case 'fail':
        bus.publish(status(ids, TaskState.TASK_STATE_FAILED, scenario.message));
        break;
      case 'end as':
        bus.publish(status(ids, TaskState[scenario.state], scenario.says ?? ''));
        break;
      case 'authorize': {
        const authorized = new Promise<void>((resolve) => (this.authorize = resolve));
        bus.publish(status(ids, TaskState.TASK_STATE_AUTH_REQUIRED, scenario.says));
        await authorized;
        bus.publish(status(ids, TaskState.TASK_STATE_COMPLETED, ''));
        break;
      }
      case 'crash':
        await new Promise((resolve) => setImmediate(resolve)); // so that the text is sent before the crash
        this.crashed.push(taskId);
        this.dropConnection();
        break;
      case 'hang':
        await new Promise<void>((resolve) => this.hanging.set(taskId, resolve));
        bus.publish(status(ids, TaskState.TASK_STATE_CANCELED, ''));
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

export type A2aScenario =
  | AgentScenario
  | { does: 'end as'; state: keyof typeof TaskState; says?: string }
  | { does: 'authorize'; says: string };

interface TaskIds {
  taskId: string;
  contextId: string;
}

function answerPiece(ids: TaskIds, text: string): AgentEvent {
  return artifact(ids, { artifactId: 'answer', parts: [Part.fromJSON({ text })] }, { append: true, lastChunk: false });
}

function artifactChunk(ids: TaskIds, { id, name = '', parts, append, last }: ArtifactChunk): AgentEvent {
  return artifact(ids, { artifactId: id, name, parts: parts.map(partOf) }, { append, lastChunk: last });
}

function artifact(
  ids: TaskIds,
  content: Pick<Artifact, 'artifactId' | 'parts'> & { name?: string },
  chunk = { append: false, lastChunk: true },
): AgentEvent {
  const whole = { name: '', description: '', metadata: undefined, extensions: [], ...content };
  return AgentEvent.artifactUpdate({ ...ids, artifact: whole, ...chunk, metadata: undefined });
}

function partOf(part: ContentPart): Part {
  const { type: _type, ...rest } = part;
  if (!('bytes' in rest)) return Part.fromJSON({ ...rest, ...('name' in rest && { filename: rest.name }) });
  return Part.fromJSON({ raw: rest.bytes, filename: rest.name, mediaType: rest.mediaType });
}

/** The context in the metadata of the message as a part, or no part. */
function contextPartsOf({ metadata }: Message): Part[] {
  return metadata?.['context'] ? [Part.fromJSON({ data: metadata['context'] })] : [];
}

function usageOf({ usage }: { usage?: AgentUsage }): { usage: AgentUsage } | undefined {
  return usage && { usage };
}

type AgentEvent = ReturnType<typeof AgentEvent.message>;

function status(ids: TaskIds, state: TaskState, text: string, metadata?: Record<string, unknown>): AgentEvent {
  const message = text === '' ? undefined : Message.fromJSON({ messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] });
  return AgentEvent.statusUpdate({ ...ids, status: { state, message, timestamp: undefined }, metadata });
}

function textOf(message: Message): string {
  return message.parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('');
}
