import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Secret } from '../../secrets/secret.js';
import { linesOf } from '../wire/lines.js';
import { ProcessGroup } from './process-group.js';

export interface Program {
  /** An absolute path, or a name that is searched in the PATH of `env`. */
  command: string;
  args?: string[];
  cwd?: string;
  /** The complete environment of the program. It does not inherit the environment of Rollcall, which contains keys. */
  env?: Record<string, string>;
  /** Keys to add to the environment. They are revealed only when the program starts. */
  keys?: Record<string, Secret>;
}

/**
 * A running program that reads and writes lines. If Rollcall crashes, the standard input of the program closes, and the program should
 * stop.
 */
export class ProgramProcess {
  readonly group: ProcessGroup;

  private constructor(private readonly child: ChildProcessWithoutNullStreams) {
    this.group = new ProcessGroup(child);
  }

  /** Throws when the program cannot be started. */
  static async start({ command, args = [], cwd, env, keys = {} }: Program): Promise<ProgramProcess> {
    const revealed = Object.entries(keys).map(([name, secret]) => [name, secret.reveal()]);
    const options = { cwd, env: { ...env, ...Object.fromEntries(revealed) }, detached: true };
    const child = spawn(command, args, { ...options, stdio: 'pipe' });
    await once(child, 'spawn');
    return new ProgramProcess(child);
  }

  send(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Reads lines until the program closes its output. */
  async read(onLine: (line: string) => void, maxLineLength?: number): Promise<void> {
    for await (const line of linesOf(this.child.stdout, maxLineLength)) onLine(line);
  }
}
