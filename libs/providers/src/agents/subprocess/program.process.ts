import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { linesOf } from '../wire/lines.js';
import { ProcessGroup } from './process-group.js';

export interface Program {
  /** An absolute path, or a name to be found in the PATH of `env`. */
  command: string;
  args?: string[];
  cwd?: string;
  /** All of its environment: nothing of ours is passed on, since ours holds keys. */
  env?: Record<string, string>;
}

/** A running program that reads and writes lines. Should we die, its standard input closes, and a good program stops. */
export class ProgramProcess {
  readonly group: ProcessGroup;

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.group = new ProcessGroup(child);
  }

  /** Throws when the program cannot be started. */
  static async start({ command, args = [], cwd, env = {} }: Program): Promise<ProgramProcess> {
    const child = spawn(command, args, { cwd, env, detached: true, stdio: 'pipe' });
    await once(child, 'spawn');
    return new ProgramProcess(child);
  }

  send(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Until the program closes its output. */
  async read(onLine: (line: string) => void): Promise<void> {
    for await (const line of linesOf(this.child.stdout)) onLine(line);
  }
}
