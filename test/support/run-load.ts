import { type Answer, call } from './call.js';
import { RunWatcher } from './run-watcher.js';

/** A run that a client has followed, and what the client has received. */
export interface FollowedRun {
  readonly id: string;
  /** The numbers of the steps, in the order in which they were received. */
  readonly steps: readonly number[];
  readonly state: unknown;
  readonly connections: number;
}

/** Clients of runs that share one URL, such as the URL of a proxy. They use the definition `clerk`. */
export class RunLoad {
  readonly statuses = new Set<number>();
  readonly ids: string[] = [];
  readonly followed: FollowedRun[] = [];

  constructor(
    private readonly url: string,
    private readonly key: string,
  ) {}

  async define(): Promise<void> {
    const content = {
      description: 'Reads the clock.',
      instructions: 'Read the clock.',
      tools: ['clock'],
      maxIterations: 100,
    };
    await this.send('POST', '/v1/definitions', { name: 'clerk', content });
  }

  async start(times: number): Promise<string> {
    const body = { definition: 'clerk', input: `Read the clock ${times} times.` };
    const id = String((await this.send('POST', '/v1/runs', body)).body['id']);
    this.ids.push(id);
    return id;
  }

  /** Waits with long polls until the run is finished. */
  async finished(id: string): Promise<unknown> {
    for (;;) {
      const { status, body } = await this.send('GET', `/v1/runs/${id}?waitMs=20000`);
      if (status !== 200 || !['queued', 'running'].includes(String(body['state']))) return body['state'];
    }
  }

  /** Follows a run until it is finished. If a stream ends earlier, the client connects again and continues after the last step. */
  async follow(id: string): Promise<void> {
    const steps: number[] = [];
    let connections = 0;
    let state: unknown;
    while (state !== 'completed' && connections < 20) {
      connections += 1;
      const after = steps.at(-1) ?? 0;
      const watcher = await RunWatcher.open(`${this.url}/v1/runs/${id}/stream?afterStep=${after}`, this.key);
      this.statuses.add(watcher.status);
      await watcher.over(60_000);
      steps.push(...watcher.steps);
      state = watcher.states.at(-1);
    }
    this.followed.push({ id, steps, state, connections });
  }

  private async send(method: string, path: string, body?: object): Promise<Answer> {
    const answer = await call(this.url, method, path, { key: this.key, ...(body && { body }) });
    this.statuses.add(answer.status);
    return answer;
  }
}
