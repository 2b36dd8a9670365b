import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '#rollcall/test-support';
import type { LoadRequest } from './load.js';

/** Whether etcd is installed. */
export const HAS_ETCD = spawnSync('etcd', ['--version']).status === 0;
export const NO_ETCD = 'etcd is not installed (Debian package etcd-server): the comparison with it is skipped';

const TTL_S = 3_600;
const AT_ONCE = 32;
const HEADERS = { 'content-type': 'application/json' };

/** One etcd with its defaults, on an empty data folder. Clients talk to its HTTP/JSON gateway. */
export class Etcd {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(): Promise<Etcd> {
    const folder = mkdtempSync(join(tmpdir(), 'rollcall-etcd-'));
    const [client, peer] = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`];
    const options = {
      'data-dir': join(folder, 'data'),
      'listen-client-urls': client,
      'advertise-client-urls': client,
      'listen-peer-urls': peer,
      'initial-advertise-peer-urls': peer,
      'initial-cluster': `default=${peer}`,
    };
    const flags = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
    const child = spawn('etcd', flags, { stdio: 'ignore' });
    const isHealthy = async (): Promise<boolean> =>
      (await fetch(`${client}/health`).catch(() => undefined))?.ok === true;
    await until('etcd answers', isHealthy, 30_000);
    return new Etcd(client, child, folder);
  }

  /** Grants leases with the ids from 1 to `count`. */
  async grantLeases(count: number): Promise<void> {
    let next = 1;
    const grantAll = async (): Promise<void> => {
      while (next <= count) {
        const { path, body } = grant(next++);
        const answer = await fetch(this.url + path, { method: 'POST', headers: HEADERS, body });
        if (!answer.ok) throw new Error(`etcd granted no lease: ${await answer.text()}`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, grantAll));
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

export function grant(lease: number): LoadRequest {
  return { path: '/v3/lease/grant', headers: HEADERS, body: JSON.stringify({ TTL: TTL_S, ID: String(lease) }) };
}

export function keepAlive(lease: number): LoadRequest {
  return { path: '/v3/lease/keepalive', headers: HEADERS, body: JSON.stringify({ ID: String(lease) }) };
}

/** Stores a document under a key that ends with the lease. */
export function put(lease: number, document: string): LoadRequest {
  const key = Buffer.from(`/agents/${lease}`).toString('base64');
  const body = JSON.stringify({ key, value: Buffer.from(document).toString('base64'), lease: String(lease) });
  return { path: '/v3/kv/put', headers: HEADERS, body };
}
