import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Secret } from '../../secrets/secret.js';
import { linesOf } from '../wire/lines.js';
import { ProcessGroup } from './process-group.js';
import { accountOf, PrivateFolder, type ProgramUser } from './program.user.js';

export interface Program {
  /** An absolute path, or a name that is searched in the PATH of `env`. */
  command: string;
  args?: string[];
  /** The working folder. Absent: a private folder, which is removed when the program has ended. */
  cwd?: string;
  /** The user that runs the program, by name or number, or `same`: the user of Rollcall. Required if Rollcall runs as root. */
  user?: ProgramUser;
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

  /** Resolves when the program has ended and its private folder is removed. */
  readonly ended: Promise<void>;

  private constructor(
    private readonly child: ChildProcessWithoutNullStreams,
    folder: PrivateFolder | undefined,
  ) {
    this.group = new ProcessGroup(child);
    this.ended = this.group.exited.then(async () => await folder?.remove());
  }

  /** Throws when the program cannot be started. */
  static async start({ command, args = [], cwd, user, env, keys = {} }: Program): Promise<ProgramProcess> {
    const account = accountOf(user);
    const folder = cwd === undefined ? await PrivateFolder.create(account) : undefined;
    try {
      const revealed = Object.entries(keys).map(([name, secret]) => [name, secret.reveal()]);
      const options = { cwd: cwd ?? folder?.path, env: { ...env, ...Object.fromEntries(revealed) }, detached: true };
      const child = spawn(command, args, { ...options, ...account, stdio: 'pipe' });
      await once(child, 'spawn');
      return new ProgramProcess(child, folder);
    } catch (error) {
      await folder?.remove();
      throw error;
    }
  }

  send(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  /** Reads lines until the program closes its output. */
  async read(onLine: (line: string) => void, maxLineLength?: number): Promise<void> {
    for await (const line of linesOf(this.child.stdout, maxLineLength)) onLine(line);
  }
}
