import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Uses one core until the process that started it has ended. */
const PROGRAM = `
  const parent = process.ppid;
  while (process.ppid === parent) for (const until = performance.now() + 100; performance.now() < until; );
`;

/** Processes that each use one core, so that a test or a storm also runs on a machine without idle cores. */
export class BusyLoops {
  private constructor(private readonly children: readonly ChildProcess[]) {}

  static start(count: number): BusyLoops {
    const flags = { stdio: 'ignore' as const };
    return new BusyLoops(Array.from({ length: count }, () => spawn(process.execPath, ['-e', PROGRAM], flags)));
  }

  async stop(): Promise<void> {
    const running = this.children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const exits = running.map(async (child) => await once(child, 'exit'));
    for (const child of running) child.kill('SIGKILL');
    await Promise.all(exits);
  }
}
