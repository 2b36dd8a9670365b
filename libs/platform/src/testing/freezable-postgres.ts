import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EmbeddedPostgres } from '../postgres/embedded/embedded-postgres.js';

/** A separate Postgres server for one test. The test can freeze it (like a hanging disk or host), crash it or restart it. */
export class FreezablePostgres {
  private frozen: number[] = [];

  private constructor(
    private readonly folder: string,
    private readonly server: EmbeddedPostgres,
  ) {}

  static async start(onRestart?: (reason: string) => void): Promise<FreezablePostgres> {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-freeze-'));
    const server = await EmbeddedPostgres.start({ folder, settings: ['fsync=off'], onRestart });
    return new FreezablePostgres(folder, server);
  }

  get url(): string {
    return this.server.url();
  }

  freeze(): void {
    this.frozen = this.processes();
    for (const pid of this.frozen) signal(pid, 'SIGSTOP');
  }

  thaw(): void {
    for (const pid of this.frozen.splice(0)) signal(pid, 'SIGCONT');
  }

  /** Kills the server and all its children. It restarts by itself and recovers. */
  crash(): void {
    for (const pid of this.processes().toReversed()) signal(pid, 'SIGKILL');
  }

  /** Requests a fast shutdown, which ends every connection. The server restarts by itself. */
  restart(): void {
    signal(this.postmaster(), 'SIGINT');
  }

  async stop(): Promise<void> {
    this.thaw();
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private postmaster(): number {
    return Number.parseInt(readFileSync(join(this.folder, 'postgres', 'postmaster.pid'), 'utf8'), 10);
  }

  /** Returns the pids of the server and its child processes. */
  private processes(): number[] {
    const server = this.postmaster();
    const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    return [server, ...all.map(Number).filter((pid) => parentOf(pid) === server)];
  }
}

function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return undefined; // the process has ended meanwhile
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
