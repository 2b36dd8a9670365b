import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('./agent.process.js', import.meta.url));

/** The agents of the storm: half of them take tasks over REST, half over a socket, and half are idempotent. */
export class StormAgents {
  private readonly agents: ChildProcess[] = [];
  private urls: readonly string[] = [];

  constructor(
    private readonly key: string,
    private readonly log: string,
    /** How long a task takes: the shortest and the longest time. */
    private readonly workMs: readonly [number, number],
  ) {
    writeFileSync(log, '');
  }

  static isIdempotent(index: number): boolean {
    return index % 4 < 2;
  }

  async start(count: number): Promise<void> {
    for (let index = this.agents.length; index < count; index += 1) this.agents.push(await this.startOne(index));
  }

  /** Tells the agents where the replicas are now. */
  connect(urls: readonly string[]): void {
    this.urls = urls;
    for (const agent of this.agents) if (agent.connected) agent.send([...urls]);
  }

  /** Kills an agent without a warning, and starts it again. */
  async kill(index: number): Promise<void> {
    const agent = this.agents[index];
    if (!agent) return;
    const exit = once(agent, 'exit');
    agent.kill('SIGKILL');
    await exit;
    this.agents[index] = await this.startOne(index);
  }

  /** The lines of the log, by what they say. */
  noted(): { readonly executed: readonly string[][]; readonly accepted: readonly string[][] } {
    const lines = readFileSync(this.log, 'utf8').trim().split('\n');
    const all = lines.map((line) => line.split(' '));
    const of = (what: string): string[][] => all.filter(([first]) => first === what).map((line) => line.slice(1));
    return { executed: of('executed'), accepted: of('accepted') };
  }

  stop(): void {
    for (const agent of this.agents) agent.kill('SIGKILL');
  }

  private async startOne(index: number): Promise<ChildProcess> {
    const transport = index % 2 === 0 ? 'rest' : 'socket';
    const work = this.workMs.map(String);
    const flags = [`agent-${index}`, transport, String(StormAgents.isIdempotent(index)), this.log, ...work];
    const agent = fork(PROGRAM, flags, { env: { ...process.env, ROLLCALL_ADMIN_KEY: this.key } });
    agent.send([...this.urls]);
    await once(agent, 'message');
    return agent;
  }
}
