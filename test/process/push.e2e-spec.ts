import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { WebhookProcesses } from '../support/webhook-processes.js';

let processes: WebhookProcesses;
beforeEach(async () => void (processes = await WebhookProcesses.create()));
afterEach(async () => await processes.end());

describe('a push notification of two processes', () => {
  it('S3.12 a push notification arrives when the delivering process is killed during the delivery', async () => {
    const first = await processes.start({ constants: { webhooks: { timeout: 300_000 } } }); // one attempt, which does not end
    const content = { description: 'Echoes.', instructions: 'Echo.' };
    await call(first.url, 'POST', '/v1/definitions', { key: processes.key, body: { name: 'echo', content } });
    let unanswered = 0;
    processes.receiver.answer = () => (unanswered++ === 0 ? undefined : { status: 204 });
    const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: processes.receiver.url } };
    const message = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'Hello.' }] };
    const sent = { key: processes.key, headers: { 'a2a-version': '1.0' }, body: { message, configuration } };
    expect((await call(first.url, 'POST', '/a2a/agents/echo/message:send', sent)).status).toBe(200);
    await until('a delivery is in progress', () => unanswered === 1);
    const second = await processes.start();
    await processes.kill(first);
    expect(
      (await call<{ items: object[] }>(second.url, 'GET', '/v1/sinks', { key: processes.key })).body.items,
    ).toEqual([]);
    await until('the end arrives', () => processes.receiver.received.some(({ body }) => body.startsWith('{"task":')));
    const kinds = processes.receiver.received.map(({ body }) => /TASK_STATE_[A-Z]+/.exec(body)?.[0]);
    expect(kinds).toEqual(['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']);
  }, 240_000);
});
