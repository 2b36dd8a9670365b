import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { type Answer, call } from '../support/call.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);

let folder: string;
let url: string;
const replicas: RollcallProcess[] = [];

beforeEach(async () => {
  folder = newFolder();
  url = await emptyDatabase();
});
afterEach(async () => {
  await Promise.all(replicas.map(async (one) => await one.end('SIGKILL')));
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

async function start(): Promise<RollcallProcess> {
  const environment = { DATABASE_URL: url, ROLLCALL_DATA_DIR: folder, ROLLCALL_ADMIN_KEY: KEY };
  const constants = { runtime: { runs: { leaseMs: 3_000 } } };
  const replica = await new RollcallProcess(environment, { constants }).ready();
  replicas.push(replica);
  return replica;
}

const request = async (at: RollcallProcess, method: string, path: string, body?: object): Promise<Answer> =>
  await call(at.url, method, path, { key: KEY, ...(body && { body }) });
async function send(at: RollcallProcess, input: string): Promise<string> {
  const { status, body } = await request(at, 'POST', '/v1/runs', {
    definition: 'clerk',
    input,
    conversationId: 'talk',
  });
  expect(status).toBe(202);
  return String(body['id']);
}
const ended = async (at: RollcallProcess, id: string): Promise<Answer['body']> =>
  (await request(at, 'GET', `/v1/runs/${id}?waitMs=30000`)).body;

describe('a conversation on two replicas', () => {
  it('S2.10 continues in order after kill -9 of a replica between its runs and during one', async () => {
    const [one, two, three] = await Promise.all([start(), start(), start()]);
    const content = { description: 'Works.', tools: ['clock'] };
    const defined = await request(one, 'POST', '/v1/definitions', { name: 'clerk', content });
    expect(defined.status).toBe(201);
    expect(await ended(one, await send(one, 'My name is Ada.'))).toMatchObject({ state: 'completed' });
    await one.end('SIGKILL');
    const long = await send(two, 'Read the clock 12 times');
    const next = await send(two, 'What did I say?');
    await until('the run has steps', async () => {
      const { body } = await request(three, 'GET', `/v1/runs/${long}/steps`);
      return (body['items'] as unknown[]).length > 4;
    });
    expect((await request(three, 'GET', `/v1/runs/${next}`)).body).toMatchObject({ state: 'queued' });
    await two.end('SIGKILL');
    const [first, last] = [await ended(three, long), await ended(three, next)];
    expect(first['attempts']).toBeGreaterThan(1);
    expect(first).toMatchObject({
      state: 'completed',

      result: { parts: [{ text: 'I have read the clock 12 times.' }] },
    });
    expect(last).toMatchObject({ result: { parts: [{ text: 'You said: My name is Ada., Read the clock 12 times' }] } });
    expect(Date.parse(String(first['finishedAt']))).toBeLessThanOrEqual(Date.parse(String(last['startedAt'])));
  }, 90_000);
});
