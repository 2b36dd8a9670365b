import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { freePort, until } from '#rollcall/test-support';

/** Whether PgBouncer is installed. */
export const HAS_PGBOUNCER = spawnSync('pgbouncer', ['--version']).status === 0;
/** PgBouncer does not run as root. In this namespace it is another user, and may still enter the folder of the socket. */
const AS_USER = process.getuid?.() === 0 ? ['unshare', '-U', '--map-user=1000', '--map-group=1000'] : [];

export type PoolMode = 'session' | 'transaction';

/** PgBouncer in front of the Postgres of the tests, with the settings that docs/deployment.md names. */
export class PgBouncer {
  private constructor(
    private readonly address: URL,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  /** `serverUrl`: any database of the server. */
  static async start(serverUrl: string, mode: PoolMode): Promise<PgBouncer> {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-pgbouncer-'));
    const port = await freePort();
    const { searchParams, username } = new URL(serverUrl);
    writeFileSync(join(folder, 'users.txt'), `"${username}" ""\n`);
    writeFileSync(
      join(folder, 'pgbouncer.ini'),
      `[databases]
* = host=${searchParams.get('host')}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(folder, 'users.txt')}
pool_mode = ${mode}
default_pool_size = ${mode === 'session' ? 60 : 10}
max_client_conn = 200
ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout
`,
    );
    const [program, ...flags] = [...AS_USER, 'pgbouncer', '--quiet', join(folder, 'pgbouncer.ini')];
    const child = spawn(program, flags, { stdio: 'inherit' });
    const pooler = new PgBouncer(new URL(`postgresql://${username}@127.0.0.1:${port}`), child, folder);
    await until('PgBouncer accepts connections', async () => await accepts(pooler.urlOf(serverUrl)));
    return pooler;
  }

  /** The URL of a database of the server through this pooler. */
  urlOf(databaseUrl: string): string {
    return Object.assign(new URL(this.address), { pathname: new URL(databaseUrl).pathname }).href;
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function accepts(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined); // PgBouncer may not listen yet
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
