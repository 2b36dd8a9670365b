import { spawn } from 'node:child_process';
import { z } from 'zod';
import { defineTool, type Tool } from '../tool.js';
import type { BashOptions } from '../tools.options.js';
import { workspaceOf, type Workspaces } from './workspaces.js';

export const BASH = 'bash';

const MAX_COMMAND = 32 * 1_024;
/** Nothing of the environment of the server reaches a command. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8', TERM: 'dumb' };
/** How long the tool waits for the end of the output of a process that it has killed. */
const LAST_OUTPUT_MS = 1_000;
/** To read and drop more output would take time from other work of the replica. */
const MAX_WRITTEN_MB = 64;

/** Executes commands in the sandbox of the operator, in the workspace of the run. */
export function bashTool(workspaces: Workspaces, options: BashOptions): Tool {
  const { timeoutMs } = options;
  return defineTool({
    name: BASH,
    description: `Executes a command with bash in the workspace, in a sandbox. It returns the output and the exit code. It ends after ${timeoutMs / 1_000} s. Programs that it leaves running are ended.`,
    input: z.strictObject({ command: z.string().min(1).max(MAX_COMMAND) }),
    idempotent: false,
    timeoutMs: timeoutMs + 2 * LAST_OUTPUT_MS,
    async execute({ command }, { run, signal }) {
      const folder = await workspaces.of(workspaceOf(run));
      return await folder.change(async () => {
        await folder.allowCommands();
        return await runCommand({ command, folder: folder.root, signal, options });
      }, signal);
    },
  });
}

interface Command {
  readonly command: string;
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly options: BashOptions;
}

/** The sandbox is the leader of a process group, so that all its processes can be killed. */
async function runCommand({ command, folder, signal, options }: Command): Promise<string> {
  const [program = '', ...args] = options.sandbox.map((part) => part.replaceAll('{workspace}', folder));
  const child = spawn(program, [...args, 'bash', '-c', command], {
    cwd: folder,
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const kill = (): void => {
    if (child.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // the group has ended already
    }
  };
  let reason: string | undefined;
  const end = (why: string): void => {
    reason ??= why;
    kill();
  };
  const output = new LimitedOutput(options.maxOutputBytes);
  const add = (chunk: Buffer): void => {
    output.add(chunk);
    if (output.written > MAX_WRITTEN_MB * 1_024 * 1_024) end(`Ended: the command wrote more than ${MAX_WRITTEN_MB} MB`);
  };
  child.stdout.on('data', add);
  child.stderr.on('data', add);
  const late = `Ended after ${options.timeoutMs / 1_000} s: the command took too long`;
  const timer = setTimeout(() => end(late), options.timeoutMs);
  signal.addEventListener('abort', kill, { once: true });
  if (signal.aborted) kill();
  try {
    const { code, killedBy } = await ended(child, kill);
    return `${output.text()}[${reason === undefined ? `Exit code: ${code ?? killedBy}` : `${reason}.`}]`;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', kill);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

interface Ended {
  readonly code: number | null;
  readonly killedBy: string | null;
}

/** Resolves when the process and its output have ended. A program in the background may keep the output open: it is not awaited. */
async function ended(child: ReturnType<typeof spawn>, killGroup: () => void): Promise<Ended> {
  return await new Promise((resolve, reject) => {
    child.once('error', (error) =>
      reject(new Error(`The sandbox cannot be started: ${nameOf(error)}.`, { cause: error })),
    );
    child.once('exit', (code, killedBy) => {
      killGroup(); // programs that the command left running
      const end = { code, killedBy };
      const timer = setTimeout(() => resolve(end), LAST_OUTPUT_MS);
      child.once('close', () => {
        clearTimeout(timer);
        resolve(end);
      });
    });
  });
}

/** Without the path of the program, which the model need not know. */
function nameOf(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'its program does not exist' : (error.code ?? 'unknown error');
}

/** Keeps the beginning and drops the rest, so that a command that floods its output uses no memory. */
class LimitedOutput {
  private readonly chunks: Buffer[] = [];
  private kept = 0;
  private dropped = 0;

  constructor(private readonly maxBytes: number) {}

  /** How many bytes the command has written. */
  get written(): number {
    return this.kept + this.dropped;
  }

  add(chunk: Buffer): void {
    const fits = chunk.subarray(0, this.maxBytes - this.kept);
    if (fits.length > 0) this.chunks.push(fits);
    this.kept += fits.length;
    this.dropped += chunk.length - fits.length;
  }

  text(): string {
    const text = Buffer.concat(this.chunks).toString('utf8');
    const notice = this.dropped > 0 ? `\n[Cut: ${this.dropped} further bytes.]` : '';
    return text === '' ? '' : `${text}${notice}${text.endsWith('\n') && notice === '' ? '' : '\n'}`;
  }
}
