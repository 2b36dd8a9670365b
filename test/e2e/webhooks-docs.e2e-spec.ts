import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, until } from '#rollcall/test-support';
import type { IssuedWebhookView } from '../../apps/api/src/webhooks/webhooks.dto.js';
import { startApi, type TestApi } from '../support/api.js';
import { examplesOf, shellVariables } from '../support/doc-example.js';
import { appendEvents, joined, left } from '../support/events.js';

let api: TestApi;
let folder: string;
let receiver: ChildProcess | undefined;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_SEALING_KEY: 'k'.repeat(32) }, { constants: { webhooks: { retryFirst: 50 } } });
  folder = mkdtempSync(join(tmpdir(), 'rollcall-docs-'));
});
afterAll(async () => {
  receiver?.kill();
  await api.stop();
  rmSync(folder, { recursive: true });
});

async function run<Answer>(script: string, environment: Record<string, string>): Promise<Answer> {
  const server = { ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey };
  const env = { PATH: process.env['PATH'] ?? '', ...shellVariables(server), ...environment };
  const child = spawn('sh', ['-c', script], { env });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  const [code] = (await once(child, 'close')) as [number];
  expect({ code, output }).toMatchObject({ code: 0 });
  return JSON.parse(output) as Answer;
}

/** Sends half of a request, like a replica that crashes while it sends. */
async function sendHalfARequest(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write('POST / HTTP/1.1\r\nhost: receiver\r\ncontent-length: 1000\r\n\r\n{"half":');
  socket.end();
  await once(socket.resume(), 'close');
}

describe('docs/webhooks.md', () => {
  it('B3 D2 the documented receiver verifies the deliveries of its subscription and survives an incomplete request', async () => {
    const [program = ''] = examplesOf('webhooks.md', 'js');
    const [subscribe = '', replay = ''] = examplesOf('webhooks.md', 'sh');
    const script = join(folder, 'receiver.mjs');
    writeFileSync(script, program);
    const PORT = String(await freePort());
    await appendEvents(api, joined('builder-1'), left('builder-1'));
    const { id, secret } = await run<IssuedWebhookView>(subscribe, { PORT });
    let output = '';
    receiver = spawn(process.execPath, [script], { env: { SECRET: secret, PORT } });
    receiver.stdout?.on('data', (chunk) => (output += String(chunk)));
    await until(
      'both events are received',
      () => output === '1 dev.rollcall.agent.joined builder-1\n2 dev.rollcall.agent.left builder-1\n',
    );
    await run(replay, { WEBHOOK: id });
    await until('both events are received again', () => output.split('\n').length === 5);
    const forged = await fetch(`http://127.0.0.1:${PORT}/`, {
      method: 'POST',
      body: '{}',
      headers: {
        'webhook-id': 'x',
        'webhook-timestamp': String(Math.floor(Date.now() / 1_000)),
        'webhook-signature': 'v1,eA==',
      },
    });
    expect(forged.status).toBe(401);
    await sendHalfARequest(Number(PORT));
    await appendEvents(api, joined('builder-2'));
    await until('the receiver accepts a delivery after the incomplete request', () =>
      output.includes('3 dev.rollcall.agent.joined builder-2\n'),
    );
    expect(spawnSync(process.execPath, ['--check', script]).status).toBe(0);
  });
});
