import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./replica.process.js', import.meta.url));
const RETRY_MS = 50;

interface Replica {
  readonly child: ChildProcess;
  readonly url: string;
}

/** Replicas in separate processes on one database, two by default. */
export class StormReplicas {
  private turn = 0;

  private constructor(
    private readonly environment: Record<string, string>,
    /** A replica is undefined while it starts. */
    private readonly replicas: (Replica | undefined)[],
  ) {}

  static async start(environment: Record<string, string>, count = 2): Promise<StormReplicas> {
    const replicas: Replica[] = [];
    while (replicas.length < count) replicas.push(await startReplica(environment));
    return new StormReplicas(environment, replicas);
  }

  get pids(): number[] {
    return this.replicas.map((replica) => replica?.child.pid ?? 0);
  }

  /** The URLs of the replicas that are alive. */
  get urls(): string[] {
    return this.replicas.flatMap((replica) => (replica ? [replica.url] : []));
  }

  /** Kills a replica without a warning, and starts it again. */
  async kill(index: number): Promise<void> {
    const replica = this.replicas[index];
    this.replicas[index] = undefined;
    if (replica) await end(replica, 'SIGKILL');
    this.replicas[index] = await startReplica(this.environment);
  }

  /** The URL of a replica that is alive; each call selects the next one. */
  async nextUrl(): Promise<string> {
    for (;;) {
      this.turn += 1;
      const replica = this.replicas[this.turn % this.replicas.length];
      if (replica) return replica.url;
      if (this.replicas.every((one) => one === undefined)) await delay(RETRY_MS);
    }
  }

  /** Sends a request to one replica after the other until one responds. The body must contain an idempotency key. */
  async post(path: string, body: object, headers: Record<string, string>): Promise<Record<string, unknown>> {
    const json = { 'content-type': 'application/json', ...headers };
    for (;;) {
      const request = { method: 'POST', headers: json, body: JSON.stringify(body) };
      const response = await fetch((await this.nextUrl()) + path, request).catch(() => undefined);
      const text = await response?.text().catch(() => undefined);
      if (text !== undefined && response && response.status < 300) return JSON.parse(text) as Record<string, unknown>;
      if (text !== undefined && response?.status !== 503 && response?.status !== 409)
        throw new Error(`POST ${path} was answered with ${response?.status}: ${text}`);
      await delay(RETRY_MS);
    }
  }

  async stop(): Promise<void> {
    await Promise.all(this.replicas.map(async (replica) => replica && (await end(replica, 'SIGTERM'))));
  }
}

async function startReplica(environment: Record<string, string>): Promise<Replica> {
  const child = fork(PROGRAM, { env: { ...process.env, ...environment } });
  const ended = once(child, 'exit').then(() => {
    throw new Error('a replica ended before it was ready');
  });
  const [url] = (await Promise.race([once(child, 'message'), ended])) as [string];
  ended.catch(() => undefined); // the replica ends later
  return { child, url };
}

async function end({ child }: Replica, signal: NodeJS.Signals): Promise<void> {
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
