import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { Webhook } from 'standardwebhooks';
import { until } from '#rollcall/test-support';
import { type Answer, call, type CallOptions } from '../support/call.js';
import { examplesOf } from '../support/doc-example.js';
import { Given, type GivenAgent } from '../support/given.js';
import { POSTGRES_CLIENT, type ReadableDatabase, readableDatabase } from '../support/postgres-client.js';
import { newFolder, RollcallProcess } from '../support/process.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

if (!POSTGRES_CLIENT) {
  process.stderr.write(
    '\n!!! SKIPPED: the test of a restore needs a pg_dump that is as new as the Postgres of the tests, or has a server of its version ' +
      '(Debian: apt-get install postgresql)\n\n',
  );
}

const ADMIN_KEY = 'k'.repeat(40);

let database: ReadableDatabase;
let folder: string;
let receiver: WebhookReceiver;
let replica: RollcallProcess;
/** What exists at the time of the backup. */
let before: { agent: GivenAgent; viewer: string; webhookSecret: string; run: string; cursor: string };
/** An agent that registers after the backup. */
let late: GivenAgent;

const databaseOf = (name: string): string => {
  const url = new URL(database.url);
  url.pathname = `/${name}`;
  return url.toString();
};

async function startOn(url: string): Promise<RollcallProcess> {
  return await new RollcallProcess({
    DATABASE_URL: url,
    ROLLCALL_ADMIN_KEY: ADMIN_KEY,
    ROLLCALL_SEALING_KEY: 's'.repeat(40),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.0/8',
  }).ready();
}

async function ask<Body = Record<string, unknown>>(
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer<Body>> {
  return await call<Body>(replica.url, method, path, { key: ADMIN_KEY, ...options });
}

async function beat({ agentId, generation, leaseToken }: GivenAgent): Promise<Answer> {
  return await ask('POST', `/v1/agents/${agentId}/heartbeat`, { key: leaseToken, body: { generation } });
}

async function fill(): Promise<typeof before> {
  const given = Given.at(replica.url, ADMIN_KEY);
  const { body: webhook } = await ask('POST', '/v1/webhooks', { body: { url: receiver.url, types: ['agent.joined'] } });
  const agent = await given.agent({ agentId: 'kept', budget: { totalTokens: 10_000 } });
  await ask('POST', '/v1/budgets/reservations', { body: { key: 'task-1', agentId: 'kept', tokens: 4_000 } });
  await ask('POST', '/v1/budgets/reservations/task-1/settle', { body: { tokens: 1_500 } });
  const content = { description: 'Echoes.', instructions: 'Echo.' };
  await ask('POST', '/v1/definitions', { body: { name: 'echo', content } });
  const { body: started } = await ask('POST', '/v1/runs', { body: { definition: 'echo', input: 'Hello.' } });
  const run = String(started['id']);
  await ask('GET', `/v1/runs/${run}?waitMs=50000`);
  const viewer = await given.key('viewer');
  await until('the event is delivered', () => receiver.received.length === 1);
  const { body: page } = await ask('GET', '/v1/events?after=oldest&limit=100');
  return { agent, viewer, webhookSecret: String(webhook['secret']), run, cursor: String(page['next']) };
}

/** Executes the block of commands in docs/operations.md that contains this program. */
function execute(program: string, bin: string): void {
  const commands = examplesOf('operations.md', 'sh').filter((code) => code.includes(program));
  expect(commands).toHaveLength(1);
  const urls = { DATABASE_URL: database.url, RESTORED_URL: databaseOf('rollcall_restored') };
  const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, ...urls };
  execFileSync('sh', ['-ec', commands[0] ?? ''], { cwd: folder, env });
}

(POSTGRES_CLIENT ? describe : describe.skip)('a restore with the commands of docs/operations.md', () => {
  beforeAll(async () => {
    if (!POSTGRES_CLIENT) return;
    folder = newFolder();
    receiver = await WebhookReceiver.start();
    database = await readableDatabase(POSTGRES_CLIENT);
    replica = await startOn(database.url);
    before = await fill();
    execute('pg_dump', POSTGRES_CLIENT.bin);
    late = await Given.at(replica.url, ADMIN_KEY).agent({ agentId: 'late' });
    await replica.end();
    execute('pg_restore', POSTGRES_CLIENT.bin);
    replica = await startOn(databaseOf('rollcall_restored'));
  }, 180_000);
  afterAll(async () => {
    await replica.end();
    await receiver.stop();
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('agents of the backup continue with their lease tokens, and later agents must register again', async () => {
    expect((await beat(before.agent)).status).toBe(200);
    expect((await ask('GET', '/v1/agents/kept')).body).toMatchObject({ status: 'active', generation: 1 });
    expect((await beat(late)).status).toBe(401);
    expect((await ask('GET', '/v1/agents/late')).status).toBe(404);
  });

  it('keys, definitions and finished runs are as in the backup', async () => {
    expect((await ask('GET', '/v1/me', { key: before.viewer })).body).toMatchObject({ roles: ['viewer'] });
    expect((await ask('GET', '/v1/definitions/echo')).body).toMatchObject({ revision: 1 });
    expect((await ask('GET', `/v1/runs/${before.run}`)).body).toMatchObject({
      state: 'completed',
      result: { parts: [{ type: 'text', text: 'You said: Hello.' }] },
    });
  });

  it('budgets have the usage of the backup, and agree with the ledger', async () => {
    expect((await ask('GET', '/v1/agents/kept/budget')).body).toMatchObject({
      budget: { totalTokens: 10_000, usedTokens: 1_500, remaining: 8_500 },
    });
    expect((await ask('GET', '/v1/budgets/reconciliation')).body).toMatchObject({ discrepancies: [] });
  });

  it('D9 a cursor of the original log is rejected', async () => {
    const { status, body } = await ask('GET', `/v1/events?after=${before.cursor}`);
    expect([status, body['code']]).toEqual([410, 'CURSOR_FOREIGN']);
  });

  it('webhooks continue, and sign with the same secret', async () => {
    const { length } = receiver.received;
    await Given.at(replica.url, ADMIN_KEY).agent({ agentId: 'new' });
    await until('the event is delivered', () => receiver.received.length > length);
    const last = receiver.received.at(-1);
    expect(last?.event).toMatchObject({ type: 'dev.rollcall.agent.joined', subject: 'new' });
    const verify = new Webhook(before.webhookSecret).verify(last?.body ?? '', last?.headers as Record<string, string>);
    expect(verify).toEqual(last?.event);
  });

  it('the audit log is complete, and still rejects changes', async () => {
    const { body } = await ask<{ items: unknown[] }>('GET', '/v1/audit?action=webhook.created');
    expect(body.items).toHaveLength(1);
    const client = new Client({ connectionString: databaseOf('rollcall_restored') });
    await client.connect();
    await expect(client.query(`UPDATE audit_entry SET action = 'x'`)).rejects.toThrow();
    await client.end();
  });
});
