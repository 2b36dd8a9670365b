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
    const answered = once(this.child, 'message');
    const ended = once(this.child, 'exit').then(() => {
      throw new Error('the worker ended before it answered');
    });
    this.child.send(message);
    const [answer] = (await Promise.race([answered, ended])) as [Answer];
    return answer;
  }

  stop(): void {
    this.child.kill();
  }
}
