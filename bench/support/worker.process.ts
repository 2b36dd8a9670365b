import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Runs a module of this folder in a separate process. The module replies to each `ask` with one message. */
export class WorkerProcess {
  private readonly child: ChildProcess;

  constructor(module: string) {
    this.child = fork(fileURLToPath(new URL(`./${module}.js`, import.meta.url)));
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
