import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { freePort } from '#rollcall/test-support';
import { HAS_NGINX, NginxProxy } from '../../bench/support/nginx.js';
import { type Answer, call, type CallOptions } from '../support/call.js';
import { AgentClient, type Registration } from '../support/agent-client.js';
import { Given } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';
import { RunLoad } from '../support/run-load.js';
import { rawHttp } from '../support/raw-http.js';

if (!HAS_NGINX) {
  process.stderr.write('\n!!! SKIPPED: the tests of the proxy need nginx (Debian: apt-get install nginx-light)\n\n');
}

const ADMIN_KEY = 'k'.repeat(40);

let folder: string;
let database: string;
let ports: [number, number];
let replicas: [RollcallProcess, RollcallProcess];
let nginx: NginxProxy;

function startReplica(port: number): RollcallProcess {
  return new RollcallProcess({
    PORT: String(port),
    DATABASE_URL: database,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: ADMIN_KEY,
    ROLLCALL_TRUSTED_PROXIES: '127.0.0.1',
    ROLLCALL_DRAIN_DELAY: '1s',
    ROLLCALL_RATE_LIMIT: '0', // a fast machine sends more requests than one credential may
  });
}

async function ask<Body = Record<string, unknown>>(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer<Body>> {
  return await call<Body>(nginx.url, method, path, { key: ADMIN_KEY, ...options });
}

const register = async (): Promise<Registration> => await Given.at(nginx.url, ADMIN_KEY).agent();

/** Repeats the work of a client until the other work is done. */
async function repeatWhile(other: Promise<unknown>, work: () => Promise<unknown>): Promise<void> {
  const finished = new AbortController();
  const done = other.finally(() => finished.abort());
  while (!finished.signal.aborted) await work();
  await done;
}

/** Repeats the request until the work is done, and returns the number of responses with each status. */
async function statusesWhile(work: Promise<unknown>, request: () => Promise<number>): Promise<Record<number, number>> {
  const counts: Record<number, number> = {};
  await repeatWhile(work, async () => {
    const status = await request();
    counts[status] = (counts[status] ?? 0) + 1;
  });
  return counts;
}

const getMe = async (): Promise<number> => (await ask('GET', '/v1/me')).status;

(HAS_NGINX ? describe : describe.skip)('the nginx configuration in deploy/nginx.conf', () => {
  beforeAll(async () => {
    folder = newFolder();
    database = await emptyDatabase();
    ports = [await freePort(), await freePort()];
    replicas = [await startReplica(ports[0]).ready(), await startReplica(ports[1]).ready()];
    nginx = await NginxProxy.start([replicas[0].url, replicas[1].url]);
  });
  afterAll(async () => {
    await nginx.stop();
    await Promise.all(replicas.map(async (one) => await one.end()));
    rmSync(folder, { recursive: true, force: true });
    await dropDatabase(database);
  });

  it('A2 nginx keeps both replicas in service while clients request invalid upgrades', async () => {
    const upgrade = async (path: string): Promise<string> =>
      await rawHttp(
        nginx.url,
        `GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`,
      );
    const paths = Array.from(
      { length: 20 },
      (_, index) => ['/', '/v1/me', '/v1/agents/ws', '/v1/nothing'][index % 4] ?? '',
    );
    const hostile = (async () => {
      const answers = [];
      for (const path of paths) answers.push(await upgrade(path));
      return answers;
    })();
    expect(Object.keys(await statusesWhile(hostile, getMe))).toEqual(['200']);
    for (const answer of await hostile) expect(answer).toMatch(/^HTTP\/1\.1 (?:302|4\d\d) /); // `/` leads to /docs
  });

  it('A3 nginx keeps both replicas in service while clients read more snapshots than allowed', async () => {
    const hostile = Promise.all(
      Array.from({ length: 60 }, async () => (await ask('GET', '/v1/events/snapshot')).status),
    );
    expect(Object.keys(await statusesWhile(hostile, getMe))).toEqual(['200']);
    expect((await hostile).filter((status) => status !== 200 && status !== 429)).toEqual([]);
  });

  it('nginx forwards WebSockets', async () => {
    const agent = await AgentClient.connect(nginx.url, await register());
    await agent.received('welcome');
    agent.send('beat');
    await agent.received('beaten');
    agent.socket.terminate();
  });

  it('nginx forwards server-sent events without buffering, and long polls', async () => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}` };
    const abort = new AbortController();
    const stream = await fetch(`${nginx.url}/v1/events/stream?after=latest`, { headers, signal: abort.signal });
    const poll = ask<{ items: unknown[] }>('GET', '/v1/events?after=latest&waitMs=50000');
    const { agentId } = await register();
    let text = '';
    for await (const chunk of stream.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.includes(agentId)) break;
    }
    abort.abort();
    const answered = await statusesWhile(poll, async () => (await register()).generation); // creates events after the poll has started
    expect(Object.keys(answered)).toEqual(['1']);
    expect((await poll).body.items.length).toBeGreaterThan(0);
  });

  it('nginx forwards a batch of 1,000 heartbeats', async () => {
    const one = { agentId: 'x'.repeat(128), leaseToken: `rl_${'y'.repeat(43)}`, generation: 1, usedTokens: 1e15 };
    const beats = Array.from({ length: 1_000 }, () => ({ ...one, load: 0.123_456, latencyMs: 1_234.5 }));
    const answer = await ask<{ results: unknown[] }>('POST', '/v1/heartbeats', { body: { beats } });
    expect([answer.status, answer.body.results.length]).toEqual([200, 1_000]);
  });

  it('A20 nginx forwards the real address of the client, not the address that the client sends', async () => {
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    await ask('POST', '/v1/keys', { body: { name: 'x', roles: ['viewer'] }, headers });
    const audit = await ask<{ items: { ip: string }[] }>('GET', '/v1/audit?limit=1');
    expect(audit.body.items[0]?.ip).toBe('127.0.0.1');
  });

  it('D8 B6 nginx loses no repeatable request and no start of a run during a rolling restart, every run is completed, and streams resume', async () => {
    const load = new RunLoad(nginx.url, ADMIN_KEY);
    await load.define();
    const restart = async (): Promise<void> => {
      for (const index of [0, 1] as const) {
        expect(await replicas[index].end()).toBe(0);
        replicas[index] = await startReplica(ports[index]).ready();
      }
    };
    const work = restart();
    const registration = await register();
    const query = async (): Promise<number> =>
      (await ask('POST', '/v1/agents/query', { body: { capabilities: ['build'] } })).status;
    const beat = async (): Promise<number> =>
      (
        await ask('POST', `/v1/agents/${registration.agentId}/heartbeat`, {
          key: registration.leaseToken,
          body: { generation: 1 },
        })
      ).status;
    const workers = [getMe, getMe, beat, beat, query, query].map(async (request) => await statusesWhile(work, request));
    const starts = Array.from({ length: 4 }, async () => {
      await repeatWhile(work, async () => await load.finished(await load.start(3)));
    });
    const streams = Array.from({ length: 2 }, async () => {
      await repeatWhile(work, async () => await load.follow(await load.start(90)));
    });
    const counts = await Promise.all(workers);
    await Promise.all([...starts, ...streams]);
    expect(counts.map((statuses) => Object.keys(statuses))).toEqual(counts.map(() => ['200']));
    expect(counts.reduce((sum, { 200: count = 0 }) => sum + count, 0)).toBeGreaterThan(100);
    expect(load.statuses).toEqual(new Set([200, 201, 202]));
    expect(await Promise.all(load.ids.map(async (id) => await load.finished(id)))).toEqual(
      load.ids.map(() => 'completed'),
    );
    expect(load.followed.some(({ connections }) => connections > 1)).toBe(true);
    for (const { steps, state } of load.followed)
      expect([state, steps]).toEqual(['completed', steps.map((_, index) => index + 1)]);
  });
});
