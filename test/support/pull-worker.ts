import { setTimeout as delay } from 'node:timers/promises';
import { until } from '#rollcall/test-support';
import type { AgentClient, Registration } from './agent-client.js';
import type { TestApi } from './api.js';
import type { Answer } from './call.js';

export interface TakenTask {
  readonly callId: string;
  readonly runId: string;
  readonly text: string;
  readonly [field: string]: unknown;
}

interface Delivery extends Record<string, unknown> {
  readonly tasks: TakenTask[];
  readonly cancelled: string[];
}

const RETRY_MS = 50;

type RestApi = Pick<TestApi, 'call'>;

/** An agent that takes its tasks over REST, at any replica. */
export class PullWorker {
  constructor(
    private readonly api: RestApi,
    readonly registration: Registration,
  ) {}

  static async register(api: TestApi, spec: object = {}): Promise<PullWorker> {
    return new PullWorker(api, await api.given.agent({ agentId: 'worker', work: 'pull', ...spec }));
  }

  /** Registers again, as the agent does after a restart. */
  async again(api: TestApi, spec: object = {}): Promise<PullWorker> {
    const { agentId, leaseToken } = this.registration;
    return await PullWorker.register(api, { agentId, leaseToken, ...spec });
  }

  async take(options: object = {}, at: RestApi = this.api): Promise<Answer<Delivery>> {
    return await this.send<Delivery>('take', { waitMs: 20_000, ...options }, at);
  }

  /** Takes one task, and fails if there is none. */
  async next(options: object = {}, at?: RestApi): Promise<TakenTask> {
    const { status, body } = await this.take(options, at);
    const [task] = body.tasks ?? [];
    if (!task) throw new Error(`no task: ${status} ${JSON.stringify(body)}`);
    return task;
  }

  async result(callId: string, body: object = { text: 'done' }, at: RestApi = this.api): Promise<Answer> {
    return await this.send(`${callId}/result`, body, at);
  }

  async progress(callId: string, body: object, at: RestApi = this.api): Promise<Answer> {
    return await this.send(`${callId}/progress`, body, at);
  }

  async beat(at: RestApi = this.api): Promise<Answer> {
    const { agentId, generation, leaseToken: key } = this.registration;
    return await at.call('POST', `/v1/agents/${agentId}/heartbeat`, { key, body: { generation } });
  }

  private async send<Body = Record<string, unknown>>(path: string, body: object, at: RestApi): Promise<Answer<Body>> {
    const { agentId, generation, leaseToken: key } = this.registration;
    return await at.call<Body>('POST', `/v1/agents/${agentId}/tasks/${path}`, { key, body: { generation, ...body } });
  }
}

/** Takes tasks until it is closed, at any replica, and reports their results when the test releases them. */
export class PullLoop {
  /** How often each task was executed, by the id of its call. */
  readonly executions = new Map<string, number>();
  private readonly held = new Set<string>();
  private readonly gate = Promise.withResolvers<void>();
  private isOpen = true;

  /** A request of the worker rejects if the replica has ended. */
  constructor(private readonly worker: PullWorker) {
    void this.run();
  }

  /** The number of tasks that wait for `release`. */
  get busy(): number {
    return this.held.size;
  }

  release(): void {
    this.gate.resolve();
  }

  close(): void {
    this.isOpen = false;
    this.release();
  }

  private async run(): Promise<void> {
    while (this.isOpen) {
      const request = { max: 10, waitMs: 1_000, holding: [...this.held] };
      const taken = await this.worker.take(request).catch(() => undefined);
      for (const { callId } of taken?.body.tasks ?? []) void this.execute(callId);
      if (!taken) await delay(RETRY_MS);
    }
  }

  private async execute(callId: string): Promise<void> {
    this.held.add(callId);
    this.executions.set(callId, (this.executions.get(callId) ?? 0) + 1);
    await this.gate.promise;
    await until('the result is accepted', async () => {
      const reported = await this.worker.result(callId).catch(() => undefined);
      return !this.isOpen || reported?.status === 200;
    });
    this.held.delete(callId);
  }
}

/** Waits for the n-th task that a socket received. */
export async function taskOn(socket: AgentClient, count = 1): Promise<TakenTask> {
  return (await socket.received('task', count)) as TakenTask;
}
