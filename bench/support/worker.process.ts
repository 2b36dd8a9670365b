import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a module, by its name in this folder or by its URL, in a separate process. The module replies to each `ask` with one message. */
export class WorkerProcess {
  private readonly child: ChildProcess;

  constructor(module: string | URL, execArgv: string[] = process.execArgv, environment: NodeJS.ProcessEnv = {}) {
    const url = typeof module === 'string' ? new URL(`./${module}.js`, import.meta.url) : module;
    this.child = fork(fileURLToPath(url), { execArgv, env: { ...process.env, ...environment } });
  }

  send(message: object | string): void {
    this.child.send(message);
  }

  async ask<Answer>(message: object | string): Promise<Answer> {
    if (!this.child.connected) throw new Error('the worker has ended');
    const settled = new AbortController(); // removes the listeners
    const answered = once(this.child, 'message', { signal: settled.signal });
    const ended = once(this.child, 'exit', { signal: settled.signal }).then(() => {
      throw new Error('the worker ended before it answered');
    });
    this.child.send(message);
    try {
      const [answer] = (await Promise.race([answered, ended])) as [Answer];
      return answer;
    } finally {
      settled.abort();
      await Promise.allSettled([answered, ended]);
    }
  }

  stop(): void {
    this.child.kill();
  }
}
