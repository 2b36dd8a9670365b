import { until } from '#rollcall/test-support';
import type { ConstantChanges } from '../../apps/api/src/config/config.constants.js';
import { type Answer, call, type CallOptions } from './call.js';
import { RollcallProcess } from './process.js';

/** On a busy machine, a replica takes long to start while other replicas work. */
const START_WITHIN_MS = 150_000;

/** Replicas in separate processes on one database. Requests are retried, so they succeed while one replica is killed. */
export class Replicas {
  /** The number of requests without a response, or with the response 503. Their effect is unknown. */
  lost = 0;
  private turn = 0;

  private constructor(
    private readonly create: () => RollcallProcess,
    private readonly processes: RollcallProcess[],
  ) {}

  static async start(
    count: number,
    environment: Record<string, string>,
    constants?: ConstantChanges,
  ): Promise<Replicas> {
    const create = (): RollcallProcess => new RollcallProcess(environment, { constants });
    const processes = Array.from({ length: count }, create);
    await Promise.all(processes.map(async (one) => await one.ready(START_WITHIN_MS)));
    return new Replicas(create, processes);
  }

  /** Starts one more replica. On a busy machine, replicas that start one after the other are ready in time. */
  async add(): Promise<void> {
    this.processes.push(await this.create().ready(START_WITHIN_MS));
  }

  /** The URLs of the replicas that are ready. */
  get urls(): string[] {
    return this.processes.map(({ url }) => url).filter((url) => url !== '');
  }

  /** Returns the URL of a replica; each call selects the next one. */
  nextUrl(): string {
    const { urls } = this;
    this.turn += 1;
    return urls[this.turn % urls.length] ?? '';
  }

  /** Kills a replica without a warning (SIGKILL), and starts it again. Other replicas serve requests in the meantime. */
  async killAndStart(index: number): Promise<void> {
    const killed = this.processes[index]?.end('SIGKILL');
    this.processes[index] = this.create();
    await Promise.all([killed, this.processes[index].ready(START_WITHIN_MS)]);
  }

  /** Sends a request to one replica after another until one of them responds with a status other than 503. */
  async call<Body = Record<string, unknown>>(
    method: string,
    path: string,
    options: CallOptions,
  ): Promise<Answer<Body> & { retried: boolean }> {
    let attempts = 0;
    let answer: Answer<Body> | undefined;
    await until(`${method} ${path} has a response`, async () => {
      attempts += 1;
      answer = await call<Body>(this.nextUrl(), method, path, options).catch(() => undefined);
      return answer !== undefined && answer.status !== 503;
    });
    this.lost += attempts - 1;
    return { ...(answer as Answer<Body>), retried: attempts > 1 };
  }

  async end(): Promise<void> {
    await Promise.all(this.processes.map(async (one) => await one.end()));
  }
}
