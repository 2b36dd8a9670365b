import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '#rollcall/test-support';

/** Whether nginx is installed. */
export const HAS_NGINX = spawnSync('nginx', ['-v']).status === 0;

const SHIPPED = join(process.cwd(), 'deploy/nginx.conf');
const TEMPORARY = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];

/** nginx with deploy/nginx.conf. Only the addresses of the replicas, the port and the paths are replaced. */
export class NginxProxy {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(replicas: readonly [string, string]): Promise<NginxProxy> {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-nginx-'));
    chmodSync(folder, 0o755); // if nginx is started by root, its workers run as another user and must read the folder
    const port = await freePort();
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, configuration(folder, port, replicas));
    const flags = ['-p', folder, '-c', file, '-e', join(folder, 'error.log'), '-g', 'daemon off;'];
    const child = spawn('nginx', flags, { stdio: ['ignore', 'ignore', 'inherit'] });
    await until('nginx listens', async () => await isListening(port));
    return new NginxProxy(`http://127.0.0.1:${port}`, child, folder);
  }

  /** The error log of nginx. */
  get errors(): string {
    return readFileSync(join(this.folder, 'error.log'), 'utf8');
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function configuration(folder: string, port: number, [one, other]: readonly [string, string]): string {
  const paths = TEMPORARY.map((name) => `${name}_temp_path ${join(folder, name)};`).join(' ');
  return replaceEach(readFileSync(SHIPPED, 'utf8'), [
    ['api-1:8080', new URL(one).host],
    ['api-2:8080', new URL(other).host],
    ['listen 8080;', `listen 127.0.0.1:${port};`],
    ['pid /tmp/nginx.pid;', `pid ${join(folder, 'nginx.pid')};`],
    ['http {', `http { ${paths}`],
  ]);
}

function replaceEach(text: string, pairs: [string, string][]): string {
  return pairs.reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`deploy/nginx.conf has no "${from}"`);
    return result.replace(from, to);
  }, text);
}

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const [event] = await Promise.race([
    once(socket, 'connect').then(() => ['connect']),
    once(socket, 'error').then(() => ['error']),
  ]).catch(() => ['error']);
  socket.destroy();
  return event === 'connect';
}
