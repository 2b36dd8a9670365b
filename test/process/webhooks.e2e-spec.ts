import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { Given } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

const KEY = 'a'.repeat(40);

let folder: string;
let url: string;
let receiver: WebhookReceiver;
const running: RollcallProcess[] = [];

beforeEach(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  receiver = await WebhookReceiver.start();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map(async (one) => await one.end()));
  await receiver.stop();
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

async function start(environment: Record<string, string> = {}): Promise<RollcallProcess> {
  const started = new RollcallProcess({
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_SEALING_KEY: 'k'.repeat(32),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.0/8',
    ...environment,
  });
  running.push(started);
  return await started.ready();
}

async function register(at: RollcallProcess, agentId: string): Promise<void> {
  await Given.at(at.url, KEY).agent({ agentId });
}

describe('a webhook of two processes', () => {
  it('a webhook receives every event when the delivering process is killed during a delivery', async () => {
    const first = await start();
    const body = { url: receiver.url, types: ['agent.joined'] };
    expect((await call(first.url, 'POST', '/v1/webhooks', { key: KEY, body })).status).toBe(201);
    await register(first, 'a-1');
    await until('the first event is received', () => receiver.subjects.includes('a-1'));
    const second = await start();
    let unanswered = 0;
    receiver.answer = ({ event }) => (event.subject === 'a-2' && unanswered++ === 0 ? undefined : { status: 204 });
    await register(second, 'a-2');
    await until('the delivery is in progress', () => unanswered === 1);
    expect(await first.end('SIGKILL')).toBe('SIGKILL');
    running.shift();
    for (const agentId of ['a-3', 'a-4', 'a-5']) await register(second, agentId);
    await until('the last event is received', () => receiver.subjects.includes('a-5'));
    expect(receiver.subjects).toEqual(['a-1', 'a-2', 'a-3', 'a-4', 'a-5']);
  });
});
