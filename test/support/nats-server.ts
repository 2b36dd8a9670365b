import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '#rollcall/test-support';

/** Whether the program `nats-server` is installed. */
export const HAS_NATS = spawnSync('nats-server', ['--version']).status === 0;

/** A NATS server with JetStream that can be stopped and started again on the same data. */
export class NatsServer {
  private readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-nats-'));
  private child?: ChildProcess;
  private output = '';

  private constructor(
    private readonly port: number,
    private readonly flags: string[],
  ) {}

  static async start(...flags: string[]): Promise<NatsServer> {
    const server = new NatsServer(await freePort(), flags);
    await server.up();
    return server;
  }

  get url(): string {
    return `nats://127.0.0.1:${this.port}`;
  }

  async up(): Promise<void> {
    this.output = '';
    const flags = ['-js', '-sd', this.folder, '-a', '127.0.0.1', '-p', String(this.port), ...this.flags];
    this.child = spawn('nats-server', flags, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.child.stderr?.on('data', (chunk) => (this.output += String(chunk)));
    await until('NATS is ready', () => this.output.includes('Server is ready'));
  }

  async down(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
