import type { ServerResponse } from 'node:http';
import { LocalServer } from '#rollcall/providers/testing';

type RecordedRequest = LocalServer['requests'][number];

/** The id of the task of every message to the backend. */
export const TASK = 'remote-1';
const JSON_TYPE = 'application/json';
/** The time to send the frames before the connection breaks. */
const DROP_AFTER_MS = 20;
const IDS = { taskId: TASK, contextId: 'talk' };

/** A task as the backend sends it. */
export const task = (state: string, more: object = {}): object => ({
  task: { id: TASK, contextId: 'talk', status: { state: `TASK_STATE_${state}` }, ...more },
});
export const status = (state: string, taskId: string = TASK): object => ({
  statusUpdate: { ...IDS, taskId, status: { state: `TASK_STATE_${state}` } },
});
export const piece = (text: string, taskId: string = TASK): object => ({
  artifactUpdate: { ...IDS, taskId, artifact: { artifactId: 'a', parts: [{ text }] }, append: true },
});

/** How the backend answers a message. */
export interface Script {
  /** The results in the frames of the stream. A text is sent as it is. */
  readonly frames?: readonly (object | string)[];
  /** A response that is not a stream. */
  readonly answer?: { readonly status?: number; readonly type?: string; readonly body: string };
  /** What happens after the frames: the response ends, the connection breaks, or the backend waits for `release`. */
  readonly next?: 'end' | 'drop' | 'wait';
  /** The results that are sent before the response ends. */
  readonly later?: readonly object[];
  /** The task that `GetTask` returns. Absent: the task is unknown. */
  readonly read?: object;
  readonly streaming?: false;
}

/** A remote A2A agent. Each message uses the next script; the last script is used for all further messages. */
export class ScriptedBackend {
  private readonly waiting = new Set<() => void>();
  private received = 0;

  private constructor(
    private readonly server: LocalServer,
    private readonly scripts: readonly Script[],
  ) {}

  static async start(scripts: readonly Script[]): Promise<ScriptedBackend> {
    const server = await LocalServer.start(async (request, response) => {
      if (request.path.endsWith('/agent-card.json')) return response.end(JSON.stringify(backend.card()));
      return await backend.answer(request, response);
    });
    const backend = new ScriptedBackend(server, scripts);
    return backend;
  }

  get url(): string {
    return this.server.url;
  }

  /** The number of messages that wait for `release`. */
  get busy(): number {
    return this.waiting.size;
  }

  /** The methods that were called, in order. */
  get methods(): string[] {
    return this.server.requests.flatMap(({ body }) => (body as { method?: string }).method ?? []);
  }

  /** Lets the waiting messages continue. */
  release(): void {
    for (const go of this.waiting) go();
    this.waiting.clear();
  }

  async stop(): Promise<void> {
    this.release();
    await this.server.close();
  }

  private card(): object {
    return {
      name: 'backend',
      description: 'Answers as scripted.',
      version: '1',
      capabilities: { streaming: this.scripts[0]?.streaming ?? true },
      supportedInterfaces: [{ url: this.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'work', name: 'Work', description: 'Works.', tags: ['work'] }],
    };
  }

  private async answer({ body }: RecordedRequest, response: ServerResponse): Promise<void> {
    const { id, method } = body as { id: unknown; method: string };
    const isMessage = method === 'SendStreamingMessage' || method === 'SendMessage';
    if (isMessage) this.received += 1;
    const script = this.scripts[Math.min(this.received, this.scripts.length) - 1] ?? {};
    const rpc = (content: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...content });
    if (isMessage && !script.answer) return await this.stream(response, script, (result) => rpc({ result }));
    const error = { code: -32001, message: 'There is no such task.' };
    const known = rpc(method === 'GetTask' && script.read ? { result: script.read } : { error });
    const { status: code = 200, type = JSON_TYPE, body: text } = (isMessage && script.answer) || { body: known };
    response.writeHead(code, { 'content-type': type }).end(text.replace('"$id"', JSON.stringify(id)));
  }

  private async stream(response: ServerResponse, script: Script, frameOf: (result: object) => string): Promise<void> {
    const send = (frame: object | string): void =>
      void response.write(typeof frame === 'string' ? frame : `data: ${frameOf(frame)}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.flushHeaders();
    script.frames?.forEach(send);
    if (script.next === 'drop') return void setTimeout(() => response.destroy(), DROP_AFTER_MS);
    if (script.next === 'wait') await this.released(response);
    script.later?.forEach(send);
    response.end();
  }

  private async released(response: ServerResponse): Promise<void> {
    await new Promise<void>((go) => {
      this.waiting.add(go);
      response.once('close', () => this.waiting.delete(go));
    });
  }
}
