import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalServer } from './local-server.js';

type RecordedRequest = LocalServer['requests'][number];
type Json = Record<string, unknown>;

const TOKEN_HEADER = 'rollcall-token';

/** An agent outside Rollcall. Its calls end after `workMs`, or when the test releases them. */
interface RemoteWorker {
  readonly url: string;
  /** How often each message was executed, by the id of its call. */
  readonly executions: ReadonlyMap<string, number>;
  /** The number of calls that wait for `release`. */
  readonly busy: number;
  release(): void;
  close(): Promise<void>;
}

interface HttpWorkerOptions {
  readonly isIdempotent: boolean;
  /** Replaces fields of the answers. */
  readonly result?: object;
  readonly workMs?: number;
}

interface HttpCall {
  readonly ended: Promise<void>;
  answer?: string;
}

/** An agent with a JSON endpoint. It recognises a repeated request by its `Idempotency-Key`. */
export class HttpWorker implements RemoteWorker {
  readonly executions = new Map<string, number>();
  private readonly calls = new Map<string, HttpCall>();
  private gate = Promise.withResolvers<void>();

  private constructor(
    private readonly server: LocalServer,
    private readonly options: HttpWorkerOptions,
  ) {}

  static async start(options: HttpWorkerOptions): Promise<HttpWorker> {
    const server = await LocalServer.start(async (request, response) => await worker.answer(request, response));
    const worker = new HttpWorker(server, options);
    return worker;
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): RecordedRequest[] {
    return this.server.requests;
  }

  get tokens(): unknown[] {
    return this.requests.map(({ headers }) => headers[TOKEN_HEADER]);
  }

  get busy(): number {
    return [...this.calls.values()].filter(({ answer }) => answer === undefined).length;
  }

  release(): void {
    this.gate.resolve();
  }

  async close(): Promise<void> {
    this.release();
    await this.server.close();
  }

  /** A call continues when its connection is lost. */
  private async answer({ headers, body }: RecordedRequest, response: ServerResponse): Promise<void> {
    const { isIdempotent, result = {} } = this.options;
    const key = String(headers['idempotency-key']);
    const known = isIdempotent ? this.calls.get(key) : undefined;
    if (known && known.answer === undefined) return void response.writeHead(409).end();
    const call =
      known ?? this.execute(key, JSON.stringify({ text: `did ${(body as Json)['text'] as string}`, ...result }));
    await call.ended;
    response.writeHead(200, { 'content-type': 'application/json' }).end(call.answer);
  }

  private execute(key: string, answer: string): HttpCall {
    this.executions.set(key, (this.executions.get(key) ?? 0) + 1);
    const { workMs } = this.options;
    const ends = [this.gate.promise, ...(workMs === undefined ? [] : [delay(workMs, undefined, { ref: false })])];
    const call: HttpCall = { ended: Promise.race(ends).then(() => void (call.answer = answer)) };
    this.calls.set(key, call);
    return call;
  }
}

type TaskState = 'WORKING' | 'COMPLETED' | 'CANCELED' | 'AUTH_REQUIRED';

/** A message as the worker received it. */
export interface ReceivedMessage {
  readonly messageId: string;
  readonly contextId?: string;
  readonly taskId?: string;
  readonly metadata?: Json;
  readonly referenceTaskIds?: string[];
  readonly extensions?: string[];
  readonly parts: { readonly text?: string }[];
}

class WorkerTask {
  state: TaskState = 'WORKING';
  readonly listeners = new Set<(result: object, isLast: boolean) => void>();

  constructor(
    readonly id: string,
    readonly message: ReceivedMessage,
  ) {}

  get isOver(): boolean {
    return this.state === 'COMPLETED' || this.state === 'CANCELED';
  }

  get json(): object {
    const answer = `did ${this.message.parts[0]?.text ?? ''}`;
    const artifacts = this.state === 'COMPLETED' ? [{ artifactId: 'answer', parts: [{ text: answer }] }] : [];
    return { id: this.id, contextId: this.message.contextId ?? 'talk', status: this.status, artifacts };
  }

  enter(state: TaskState): void {
    this.state = state;
    const { id: taskId } = this;
    const isLast = this.isOver;
    const update = { statusUpdate: { taskId, contextId: this.message.contextId ?? 'talk', status: this.status } };
    for (const listener of this.listeners) listener(state === 'COMPLETED' ? { task: this.json } : update, isLast);
  }

  private get status(): object {
    const needs = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'Sign in at https://login.example.' }] };
    const message = this.state === 'AUTH_REQUIRED' ? { message: needs } : {};
    return { state: `TASK_STATE_${this.state}`, ...message };
  }
}

/** An A2A agent that keeps its tasks. A lost connection does not end a task. */
export class A2aWorker implements RemoteWorker {
  readonly executions = new Map<string, number>();
  readonly messages: ReceivedMessage[] = [];
  readonly tasks = new Map<string, WorkerTask>();
  /** Whether the worker has lost its tasks. */
  isForgetful = false;

  private constructor(
    private readonly server: LocalServer,
    private readonly streaming: boolean,
    private readonly workMs?: number,
  ) {}

  static async start({ streaming = true, workMs }: { streaming?: boolean; workMs?: number } = {}): Promise<A2aWorker> {
    const server = await LocalServer.start((request, response) => worker.answer(request, response));
    const worker = new A2aWorker(server, streaming, workMs);
    return worker;
  }

  get url(): string {
    return this.server.url;
  }

  get requests(): RecordedRequest[] {
    return this.server.requests.filter(({ path }) => !path.endsWith('.json'));
  }

  get methods(): string[] {
    return this.requests.map(({ body }) => (body as { method: string }).method);
  }

  get tokens(): unknown[] {
    return this.requests.map(({ headers }) => headers[TOKEN_HEADER]);
  }

  get busy(): number {
    return [...this.tasks.values()].filter(({ isOver }) => !isOver).length;
  }

  /** All tasks enter the state. */
  enter(state: TaskState): void {
    for (const task of this.tasks.values()) if (!task.isOver) task.enter(state);
  }

  release(): void {
    this.enter('COMPLETED');
  }

  async close(): Promise<void> {
    await this.server.close();
  }

  private answer({ path, body }: RecordedRequest, response: ServerResponse): unknown {
    if (path.endsWith('.json')) return response.end(JSON.stringify(this.card()));
    const { id, method, params } = body as { id: unknown; method: string; params: Json };
    const rpc = (content: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...content });
    const json = (content: object): unknown =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(rpc(content));
    if (method === 'SendStreamingMessage' || method === 'SendMessage') {
      const task = this.begin(params['message'] as ReceivedMessage);
      return method === 'SendMessage' ? json({ result: { task: task.json } }) : this.stream(task, response, rpc);
    }
    const task = this.isForgetful ? undefined : this.tasks.get(String(params['id']));
    if (!task) return json({ error: { code: -32001, message: 'There is no such task.' } });
    if (method === 'SubscribeToTask') {
      if (task.isOver) return json({ error: { code: -32004, message: 'The task has ended.' } });
      return this.stream(task, response, rpc);
    }
    if (method === 'CancelTask') task.enter('CANCELED');
    return json({ result: task.json });
  }

  private begin(message: ReceivedMessage): WorkerTask {
    this.messages.push(message);
    this.executions.set(message.messageId, (this.executions.get(message.messageId) ?? 0) + 1);
    const task = new WorkerTask(`task-${this.messages.length}`, message);
    this.tasks.set(task.id, task);
    if (this.workMs !== undefined) setTimeout(() => !task.isOver && task.enter('COMPLETED'), this.workMs).unref();
    return task;
  }

  private stream(task: WorkerTask, response: ServerResponse, rpc: (content: object) => string): void {
    const send = (result: object): void => void response.write(`data: ${rpc({ result })}\n\n`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    send({ task: task.json });
    const listener = (result: object, isLast: boolean): void => {
      send(result);
      if (isLast) response.end();
    };
    task.listeners.add(listener);
    response.once('close', () => task.listeners.delete(listener));
  }

  private card(): object {
    return {
      name: 'worker',
      description: 'Works.',
      version: '1',
      capabilities: { streaming: this.streaming },
      supportedInterfaces: [{ url: this.url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      defaultInputModes: ['text/plain'],
      defaultOutputModes: ['text/plain'],
      skills: [{ id: 'work', name: 'Work', description: 'Works.', tags: ['work'] }],
    };
  }
}

const PROGRAM = fileURLToPath(new URL('programs/gated-agent.mjs', import.meta.url));

/** The arguments to start programs/gated-agent.mjs with `node`. Its calls end when the test releases them, in each process that it runs in. */
export class ProgramWorker {
  private readonly folder = mkdtempSync(join(tmpdir(), 'gated-agent-'));
  private readonly journal = join(this.folder, 'journal');
  private readonly gate = join(this.folder, 'gate');

  constructor() {
    writeFileSync(this.journal, '');
  }

  get args(): string[] {
    return [PROGRAM, this.journal, this.gate];
  }

  /** The ids of the calls that a process has begun. */
  get calls(): string[] {
    return readFileSync(this.journal, 'utf8').split('\n').filter(Boolean);
  }

  release(): void {
    writeFileSync(this.gate, '');
  }

  /** The calls that begin from now on wait again. */
  hold(): void {
    rmSync(this.gate, { force: true });
    writeFileSync(this.journal, '');
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
