import { AgentCard, formatSSEErrorEvent, formatSSEEvent, Message, SSE_HEADERS, Task, TaskState } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  defaultServerCallContextBuilder,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  UnauthenticatedUser,
  type AgentExecutor,
  type ExecutionEventBus,
  type RequestContext,
} from '@a2a-js/sdk/server';
import type { ServerResponse } from 'node:http';
import type { AgentScenario } from './agent-scenario.js';
import { LocalServer, type RecordedRequest } from './local-server.js';

/** A real A2A 1.0 server of the SDK, JSON-RPC over HTTP, whose agent does what the text of its message says. */
export class ObedientA2aServer {
  readonly executor = new ObedientExecutor();
  private rpc: JsonRpcTransportHandler;
  private card: AgentCard;

  private constructor(private readonly server: LocalServer) {}

  static async start({ streaming = true } = {}): Promise<ObedientA2aServer> {
    const server = await LocalServer.start(async (request, response) => await obedient.answer(request, response));
    const obedient = new ObedientA2aServer(server);
    obedient.card = cardFor(server.url, streaming);
    obedient.rpc = new JsonRpcTransportHandler(
      new DefaultRequestHandler(obedient.card, new InMemoryTaskStore(), obedient.executor),
    );
    return obedient;
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): RecordedRequest[] {
    return this.server.requests;
  }

  /** JSON-RPC methods in the order they were called. */
  get methods(): string[] {
    return this.requests.flatMap(({ body }) => (body as { method?: string }).method ?? []);
  }

  async close(): Promise<void> {
    this.executor.stopAll();
    await this.server.close();
  }

  private async answer(request: RecordedRequest, response: ServerResponse): Promise<void> {
    if (request.method === 'GET') return void response.end(JSON.stringify(AgentCard.toJSON(this.card)));
    this.executor.dropConnection = () => response.destroy();
    const context = defaultServerCallContextBuilder({
      extensions: [],
      user: new UnauthenticatedUser(),
      headers: request.headers,
      requestedVersion: String(request.headers['a2a-version']),
    });
    const answer = await this.rpc.handle(request.body as Record<string, unknown>, context);
    response.on('close', () => Symbol.asyncIterator in answer && void answer.return(undefined));
    if (!(Symbol.asyncIterator in answer)) return void response.end(JSON.stringify(answer));
    response.writeHead(200, SSE_HEADERS);
    try {
      for await (const event of answer) response.write(formatSSEEvent(event));
    } catch (error) {
      const id = (request.body as { id: string }).id;
      const body = { jsonrpc: '2.0', id, error: JsonRpcTransportHandler.mapToJSONRPCError(error) };
      response.write(formatSSEErrorEvent(body));
    }
    response.end();
  }
}

class ObedientExecutor implements AgentExecutor {
  begun = 0;
  dropConnection: () => void = () => undefined;
  private readonly hanging = new Map<string, () => void>();

  /** Tasks that wait for a cancel. */
  get busy(): number {
    return this.hanging.size;
  }

  execute = async (context: RequestContext, bus: ExecutionEventBus): Promise<void> => {
    this.begun += 1;
    const scenario = JSON.parse(textOf(context.userMessage)) as AgentScenario | { does: 'ask back'; question: string };
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
      case 'ask back':
        bus.publish(status(place, TaskState.TASK_STATE_INPUT_REQUIRED, scenario.question));
        break;
      case 'crash':
        setImmediate(this.dropConnection);
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

function cardFor(url: string, streaming: boolean): AgentCard {
  return AgentCard.fromJSON({
    name: 'obedient',
    description: 'Does what it is told',
    version: '1.0.0',
    capabilities: { streaming },
    defaultInputModes: ['text/plain', 'application/json'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  });
}
