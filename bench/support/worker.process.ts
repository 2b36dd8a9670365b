import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A module of this folder in a process of its own, which answers each message that needs an answer with one message. */
export class WorkerProcess {
  private readonly child: ChildProcess;

  constructor(module: string) {
    this.child = fork(fileURLToPath(new URL(`./${module}.js`, import.meta.url)));
  }

  send(message: object | string): void {
    this.child.send(message);
  }

  async ask<Answer>(message: object | string): Promise<Answer> {
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
