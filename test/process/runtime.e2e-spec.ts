import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { type Answer, call } from '../support/call.js';
import { newFolder, RollcallProcess } from '../support/process.js';

let folder: string;
let url: string;
let key: string;
let survivor: RollcallProcess;
beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  survivor = await start();
  key = readFileSync(join(folder, 'admin.key'), 'utf8').trim();
});
afterAll(async () => {
  await survivor.end();
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

const AGENTS = '/v1/runtime/agents';

async function start(): Promise<RollcallProcess> {
  const environment = { DATABASE_URL: url, ROLLCALL_DATA_DIR: folder, ROLLCALL_HEARTBEAT_EVERY: '2s' };
  return await new RollcallProcess(environment).ready();
}

async function spawn(on: RollcallProcess, name: string): Promise<Answer> {
  return await call(on.url, 'POST', AGENTS, { key, body: { name, content: { description: 'Waits.' } } });
}

const statusOf = async (name: string): Promise<number> =>
  (await call(survivor.url, 'GET', `${AGENTS}/${name}`, { key })).status;

const recordOf = async (name: string): Promise<Record<string, unknown>> =>
  (await call(survivor.url, 'GET', `/v1/agents/${name}`, { key })).body;

describe('a replica that hosts agents', () => {
  it('S1.5 S1.6 after a stop, its agents leave at once; after a kill, they leave and free their names when their leases end', async () => {
    const stopped = await start();
    expect((await spawn(stopped, 'ada')).status).toBe(201);
    expect(await statusOf('ada')).toBe(200);
    expect(await stopped.end('SIGTERM')).toBe(0);
    expect(await recordOf('ada')).toMatchObject({ status: 'left', leaveReason: 'shutdown' });
    expect(stopped.output).toContain('registry.shutdown_all');

    const killed = await start();
    expect((await spawn(killed, 'bob')).status).toBe(201);
    const away = await spawn(killed, 'cat');
    await call(survivor.url, 'DELETE', `${AGENTS}/cat`, { key });
    expect(away.body['replicaId']).not.toBe((await spawn(survivor, 'cat')).body['replicaId']);
    await killed.end('SIGKILL');
    expect((await spawn(survivor, 'bob')).body).toMatchObject({ code: 'AGENT_ALREADY_EXISTS' });
    await until('the lease of bob has ended', async () => (await statusOf('bob')) === 404);
    expect(await recordOf('bob')).toMatchObject({ status: 'left', leaveReason: 'evicted' });
    expect((await spawn(survivor, 'bob')).status).toBe(201);
    expect(await statusOf('cat')).toBe(200);
  }, 180_000);
});
