import { until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { Given } from '../support/given.js';
import type { RollcallProcess } from '../support/process.js';
import { WebhookProcesses } from '../support/webhook-processes.js';

let processes: WebhookProcesses;
beforeEach(async () => void (processes = await WebhookProcesses.create()));
afterEach(async () => await processes.end());

async function register(at: RollcallProcess, agentId: string): Promise<void> {
  await Given.at(at.url, processes.key).agent({ agentId });
}

describe('a webhook of two processes', () => {
  it('a webhook receives every event when the delivering process is killed during a delivery', async () => {
    const first = await processes.start();
    const body = { url: processes.receiver.url, types: ['agent.joined'] };
    expect((await call(first.url, 'POST', '/v1/webhooks', { key: processes.key, body })).status).toBe(201);
    await register(first, 'a-1');
    await until('the first event is received', () => processes.receiver.subjects.includes('a-1'));
    const second = await processes.start();
    let unanswered = 0;
    processes.receiver.answer = ({ event }) =>
      event.subject === 'a-2' && unanswered++ === 0 ? undefined : { status: 204 };
    await register(second, 'a-2');
    await until('the delivery is in progress', () => unanswered === 1);
    expect(await processes.kill(first)).toBe('SIGKILL');
    for (const agentId of ['a-3', 'a-4', 'a-5']) await register(second, agentId);
    await until('the last event is received', () => processes.receiver.subjects.includes('a-5'));
    expect(processes.receiver.subjects).toEqual(['a-1', 'a-2', 'a-3', 'a-4', 'a-5']);
  });
});
