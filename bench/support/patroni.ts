import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '#rollcall/test-support';
import { childrenOf } from './cpu.time.js';

/** Where Debian installs the programs of Postgres. */
const [BINARIES] = globSync('/usr/lib/postgresql/*/bin').toSorted().toReversed();
const PROGRAMS = ['etcd', 'patroni'];
/** The smallest that Patroni allows. A primary that has stopped loses its lock after this time. */
const TTL_S = 20;
const START_MS = 120_000;

/** What is missing for a cluster; empty if there is nothing. */
export const MISSING = [
  ...PROGRAMS.filter((program) => spawnSync(program, ['--version']).status !== 0),
  ...(BINARIES === undefined ? ['postgresql'] : []),
  ...(process.getuid?.() === 0 && existsSync('/etc/passwd') && accountOf('postgres')
    ? []
    : ['the account postgres, and root']),
];

interface Member {
  name: string;
  api: number;
  port: number;
  folder: string;
  process: ChildProcess;
}

function accountOf(name: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((text) => text.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

/** Two servers of Postgres with synchronous replication, which Patroni manages, and one etcd. All listen on the loopback address. */
export class PatroniCluster {
  private readonly account = accountOf('postgres') ?? { uid: 0, gid: 0 };
  private readonly folder = mkdtempSync(join(tmpdir(), 'rollcall-patroni-'));
  private readonly members: Member[] = [];
  private etcd?: ChildProcess;

  static async start(): Promise<PatroniCluster> {
    const cluster = new PatroniCluster();
    chownSync(cluster.folder, cluster.account.uid, cluster.account.gid);
    chmodSync(cluster.folder, 0o755);
    await cluster.launch();
    return cluster;
  }

  /** Names both servers. */
  urlOf(database: string): string {
    return `postgresql://postgres:storm@${this.members.map(({ port }) => `127.0.0.1:${port}`).join()}/${database}`;
  }

  /** The server that accepts writes, by the answers of Patroni; undefined while there is none. */
  async primary(): Promise<string | undefined> {
    for (const { name, api } of this.members) {
      const response = await fetch(`http://127.0.0.1:${api}/primary`, { signal: AbortSignal.timeout(1_000) }).catch(
        () => undefined,
      );
      if (response?.status === 200) return name;
    }
    return undefined;
  }

  /** Waits until there are a primary and a synchronous standby. */
  async whole(): Promise<void> {
    await until(
      'the cluster has a primary and a synchronous standby',
      async () => (await this.roles()) === 'leader+sync_standby',
      START_MS,
    );
  }

  /** Kills the server process of the primary. Patroni continues. */
  async kill(): Promise<void> {
    const { folder } = await this.primaryMember();
    process.kill(Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
  }

  /** Stops Patroni and all processes of the primary, until its lock has expired and the other server was promoted; then they continue. */
  async freeze(): Promise<void> {
    const member = await this.primaryMember();
    const pids = [member.process.pid ?? 0, ...this.serverOf(member)];
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await until(
      'the other server is promoted',
      async () => ![undefined, member.name].includes(await this.primary()),
      START_MS,
    ).finally(() => {
      for (const pid of pids) process.kill(pid, 'SIGCONT');
    });
  }

  /** Makes the standby the primary, in order. */
  async switchOver(): Promise<void> {
    const { name, api } = await this.primaryMember();
    const response = await fetch(`http://127.0.0.1:${api}/switchover`, {
      method: 'POST',
      body: JSON.stringify({ leader: name }),
    });
    if (!response.ok) throw new Error(`the switchover was refused: ${await response.text()}`);
  }

  async stop(): Promise<void> {
    for (const { process: child } of this.members) await end(child);
    if (this.etcd) await end(this.etcd);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async primaryMember(): Promise<Member> {
    const name = await this.primary();
    const member = this.members.find((one) => one.name === name);
    if (!member) throw new Error('the cluster has no primary');
    return member;
  }

  private serverOf({ folder }: Member): number[] {
    const postmaster = Number(readFileSync(join(folder, 'data/postmaster.pid'), 'utf8').split('\n')[0]);
    return [postmaster, ...childrenOf(postmaster)];
  }

  private async roles(): Promise<string> {
    const [{ api } = { api: 0 }] = this.members;
    const response = await fetch(`http://127.0.0.1:${api}/cluster`, { signal: AbortSignal.timeout(1_000) }).catch(
      () => undefined,
    );
    const { members = [] } = ((await response?.json()) ?? {}) as { members?: { role: string; state: string }[] };
    const running = members.filter(({ state }) => state === 'running' || state === 'streaming');
    return running
      .map(({ role }) => role)
      .toSorted()
      .join('+');
  }

  private async launch(): Promise<void> {
    const [client, peer] = [await freePort(), await freePort()];
    const [clientUrl, peerUrl] = [client, peer].map((port) => `http://127.0.0.1:${port}`);
    const listen = `--listen-client-urls ${clientUrl} --advertise-client-urls ${clientUrl} --listen-peer-urls ${peerUrl}`;
    const peers = `--name etcd --initial-advertise-peer-urls ${peerUrl} --initial-cluster etcd=${peerUrl}`;
    const flags = `--data-dir ${join(this.folder, 'etcd')} --logger zap --log-level error ${listen} ${peers}`;
    this.etcd = this.spawn('etcd', flags.split(' '));
    await until('etcd answers', async () => (await fetch(`${clientUrl}/health`).catch(() => undefined))?.ok === true);
    for (const name of ['one', 'other']) {
      await this.addMember(name, `127.0.0.1:${client}`);
      if (name === 'one')
        await until('the first server is the primary', async () => (await this.primary()) === name, START_MS);
    }
    await this.whole();
  }

  private async addMember(name: string, etcd: string): Promise<void> {
    const [api, port] = [await freePort(), await freePort()];
    const folder = join(this.folder, name);
    mkdirSync(folder);
    chownSync(folder, this.account.uid, this.account.gid);
    const file = join(folder, 'patroni.json'); // JSON is YAML too
    writeFileSync(file, JSON.stringify(configuration({ name, api, port, folder, etcd })));
    this.members.push({ name, api, port, folder, process: this.spawn('patroni', [file]) });
  }

  private spawn(program: string, flags: string[]): ChildProcess {
    const child = spawn(program, flags, {
      ...this.account,
      cwd: this.folder,
      stdio: 'ignore',
      env: { PATH: process.env['PATH'] },
    });
    return child;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

function configuration({
  name,
  api,
  port,
  folder,
  etcd,
}: {
  name: string;
  api: number;
  port: number;
  folder: string;
  etcd: string;
}): object {
  const account = (username: string): object => ({ username, password: 'storm' });
  return {
    scope: 'rollcall',
    name,
    restapi: { listen: `127.0.0.1:${api}`, connect_address: `127.0.0.1:${api}` },
    etcd3: { host: etcd },
    bootstrap: {
      dcs: {
        ttl: TTL_S,
        loop_wait: 1,
        retry_timeout: 3,
        primary_start_timeout: 0,
        master_start_timeout: 0,
        synchronous_mode: true,
        postgresql: { use_pg_rewind: true, parameters: { max_connections: 200, wal_log_hints: 'on' } },
      },
      initdb: [{ encoding: 'UTF8' }, 'data-checksums'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(folder, 'data'),
      bin_dir: BINARIES,
      pgpass: join(folder, 'pgpass'),
      authentication: {
        superuser: account('postgres'),
        replication: account('replicator'),
        rewind: account('postgres'),
      },
      pg_hba: ['local all all trust', 'host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
      parameters: { unix_socket_directories: folder },
    },
  };
}
