import { rmSync } from 'node:fs';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { until } from '#rollcall/test-support';
import type { ConstantChanges } from '../../apps/api/src/config/config.constants.js';
import { call } from '../support/call.js';
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

async function start(constants?: ConstantChanges): Promise<RollcallProcess> {
  const environment = {
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_SEALING_KEY: 'k'.repeat(32),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.0/8',
  };
  const started = new RollcallProcess(environment, { constants });
  running.push(started);
  return await started.ready();
}

describe('a push notification of two processes', () => {
  it('S3.12 a push notification arrives when the delivering process is killed during the delivery', async () => {
    const first = await start({ webhooks: { timeout: 300_000 } }); // one attempt, which does not end
    const content = { description: 'Echoes.', instructions: 'Echo.' };
    await call(first.url, 'POST', '/v1/definitions', { key: KEY, body: { name: 'echo', content } });
    let unanswered = 0;
    receiver.answer = () => (unanswered++ === 0 ? undefined : { status: 204 });
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: receiver.url } };
    const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Hello.' }] };
    const sent = { key: KEY, headers: { 'a2a-version': '1.0' }, body: { message, configuration } };
    expect((await call(first.url, 'POST', '/a2a/agents/echo/message:send', sent)).status).toBe(200);
    await until('a delivery is in progress', () => unanswered === 1);
    const second = await start();
    await first.end('SIGKILL');
    running.shift();
    expect((await call<{ items: object[] }>(second.url, 'GET', '/v1/sinks', { key: KEY })).body.items).toEqual([]);
    await until('the end arrives', () => receiver.received.some(({ body }) => body.startsWith('{"task":')));
    const kinds = receiver.received.map(({ body }) => /TASK_STATE_[A-Z]+/.exec(body)?.[0]);
    expect(kinds).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
  }, 240_000);
});
