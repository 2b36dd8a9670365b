import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { Answer } from '../support/call.js';
import { documentOf, type OpenApiDocument, type Operation, operationsOf, prefilled } from '../support/openapi.js';
import { ResponseCheck } from '../support/response-check.js';

/** An operation with the values that no example can contain: ids and secrets that the API has generated. */
interface Step {
  operationId: string;
  path?: () => Record<string, string>;
  key?: () => string;
  before?: () => Promise<unknown>;
}

interface Page {
  items: { sequence: string; state: string }[];
}

const AGENT = '/v1/agents/builder-01';

const workspaces = mkdtempSync(join(tmpdir(), 'workspaces-'));
let api: TestApi;
let document: OpenApiDocument;
let check: ResponseCheck;
/** The body of the last response of each operation. */
const responses: Record<string, Record<string, unknown>> = {};

const valueOf = (operationId: string, field: string): string => String(responses[operationId]?.[field]);
const webhook = (): Record<string, string> => ({ id: valueOf('webhooks.create', 'id') });
const run = (): Record<string, string> => ({ id: valueOf('runs.start', 'id') });
const contract = (): Record<string, string> => ({ id: valueOf('contracts.announce', 'id') });
const worker = (): Record<string, string> => ({ id: 'worker-01', callId: 'call-1' });
/** A contract that no agent has confirmed. */
let cancellable = '';
const delivery = (): Record<string, string> => ({
  ...webhook(),
  sequence: valueOf('webhooks.getDelivery', 'sequence'),
});

/** All operations, each after the operations that it depends on. Add each new operation here. */
const STEPS: Step[] = [
  ...plain(
    'health.live',
    'health.ready',
    'metrics.scrape',
    'me.get',
    'registry.summary',
    'usage.get',
    'sessions.open',
    'sessions.createTicket',
    'models.list',
    'plugins.list',
    'models.resolve',
    'providers.list',
    'skills.list',
    'skills.get',
    'tools.list',
    'tools.listPins',
  ),
  { operationId: 'sessions.exchangeTicket', before: storeTicket },
  { operationId: 'sessions.end', key: () => valueOf('sessions.open', 'token') },
  { operationId: 'tools.acceptPin', before: pinTool },
  ...plain('tools.importServer'),
  ...plain('agents.register', 'agents.registerBatch', 'agents.list', 'agents.get', 'agents.update', 'agents.getBudget'),
  { operationId: 'agents.heartbeat', key: () => valueOf('agents.register', 'leaseToken') },
  ...plain('heartbeats.send', 'agents.query'),
  { operationId: 'agents.takeTasks', path: worker, before: offerTask },
  { operationId: 'agents.reportProgress', path: worker },
  { operationId: 'agents.reportResult', path: worker },
  ...plain('contracts.announce', 'contracts.list'),
  { operationId: 'contracts.get', path: contract },
  { operationId: 'contracts.bid', path: contract, key: () => valueOf('agents.register', 'leaseToken') },
  {
    operationId: 'contracts.confirm',
    path: contract,
    key: () => valueOf('agents.register', 'leaseToken'),
    before: closeAuction,
  },
  { operationId: 'contracts.reportOutcome', path: contract },
  { operationId: 'contracts.cancel', path: () => ({ id: cancellable }), before: announceAgain },
  ...plain('agents.reportOutcome', 'agents.listOutcomes', 'agents.claimProbe'),
  ...plain('protection.get', 'protection.override', 'webhooks.create', 'webhooks.list'),
  ...plain('agents.drain', 'agents.quarantine', 'agents.resume'),
  ...plain('budgets.open', 'budgets.openRun', 'budgets.list', 'budgets.get', 'budgets.topUp', 'budgets.adjust'),
  ...plain('budgets.listLedger', 'budgets.forecast', 'budgets.reconcile'),
  ...plain('budgets.reserve', 'budgets.getReservation', 'budgets.renew', 'budgets.settle'),
  { operationId: 'budgets.release', path: () => ({ key: 'unused' }), before: reserveUnused },
  ...plain('runtime.spawn', 'runtime.listAgents', 'runtime.getAgent', 'runtime.shutdownAgent', 'runtime.shutdownAll'),
  ...plain('definitions.register', 'definitions.list', 'definitions.get', 'definitions.replace', 'definitions.diff'),
  ...plain('definitions.listRevisions', 'definitions.getRevision', 'definitions.getCapabilities'),
  ...plain('definitions.import', 'definitions.getEffective', 'definitions.preview', 'runs.start', 'runs.list'),
  { operationId: 'runs.get', path: run },
  { operationId: 'conversations.list', before: beginConversation },
  ...plain('conversations.get', 'conversations.delete'),
  { operationId: 'runs.listSteps', path: run },
  { operationId: 'runs.stream', path: run },
  { operationId: 'runs.getTree', path: run },
  { operationId: 'runs.export', path: run },
  { operationId: 'runs.listFiles', path: run },
  { operationId: 'runs.readFile', path: run, before: putFile },
  { operationId: 'runs.sendMessage', path: run, before: async () => await wait('input') },
  { operationId: 'runs.decide', path: run, before: async () => await wait('approval') },
  { operationId: 'runs.cancel', path: run },
  { operationId: 'runs.retry', path: run },
  ...plain('definitions.unregister'),
  ...plain('namespaces.create', 'namespaces.list', 'namespaces.get', 'namespaces.update', 'namespaces.delete'),
  ...plain('keys.issue', 'keys.list'),
  { operationId: 'keys.get', path: () => ({ id: valueOf('keys.issue', 'id') }) },
  { operationId: 'keys.rotate', path: () => ({ id: valueOf('keys.issue', 'id') }) },
  { operationId: 'keys.revoke', path: () => ({ id: valueOf('keys.rotate', 'id') }) },
  ...plain('audit.list', 'events.page', 'events.stream', 'events.snapshot', 'events.createTicket', 'sinks.list'),
  { operationId: 'webhooks.get', path: webhook },
  { operationId: 'webhooks.listDeliveries', path: webhook, before: firstDelivery },
  { operationId: 'webhooks.getDelivery', path: () => ({ ...webhook(), sequence: firstSequence() }) },
  { operationId: 'webhooks.replayDelivery', path: delivery },
  { operationId: 'webhooks.replay', path: webhook },
  { operationId: 'webhooks.rotateSecret', path: webhook },
  { operationId: 'webhooks.update', path: webhook },
  { operationId: 'sinks.replay', path: webhook },
  { operationId: 'webhooks.delete', path: webhook },
  ...plain('agents.deregister', 'agents.import'),
  { operationId: 'agents.evict', before: registerAgain },
];

function plain(...operationIds: string[]): Step[] {
  return operationIds.map((operationId) => ({ operationId }));
}

/** No replica executes runs here, so the test puts the file into the workspace. */
async function putFile(): Promise<void> {
  const folder = join(workspaces, 'default', valueOf('runs.start', 'id'), 'src');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'sum.js'), 'x');
}

/** No replica executes runs here, so the test offers a task. */
async function offerTask(): Promise<void> {
  const { id, callId } = worker();
  await api.given.agent({ agentId: id, work: 'pull' });
  await api.database.db.query(
    `INSERT INTO agent_task (call_id, run_id, agent_id, idempotent, content) VALUES ($1, 'run-1', $2, false, $3)`,
    [callId, id, JSON.stringify({ text: 'Work.', parts: [{ type: 'text', text: 'Work.' }] })],
  );
}

async function reserveUnused(): Promise<void> {
  await api.call('POST', '/v1/budgets/reservations', { body: { key: 'unused', tokens: 1 } });
}

/** Stores the ticket of the example. */
async function storeTicket(): Promise<void> {
  const { ticket } = exampleOf('sessions.exchangeTicket');
  await api.database.db.query(
    `INSERT INTO session_ticket (hash, key_id, roles, expires_at)
     SELECT sha256($1::text::bytea), id, roles, clock_timestamp() + interval '1 minute' FROM api_key LIMIT 1`,
    [ticket],
  );
}

/** Stores the tool that the example accepts. */
async function pinTool(): Promise<void> {
  const definition = { description: 'Creates an issue.', inputSchema: { type: 'object' } };
  const { hash } = exampleOf('tools.acceptPin');
  await api.database.db.query('INSERT INTO tool_pin (server, tool, hash, definition) VALUES ($1, $2, $3, $4)', [
    'github',
    'create_issue',
    hash,
    definition,
  ]);
}

/** Moves the deadline of the auction into the past, and waits until the bid of the example has the award. */
async function closeAuction(): Promise<void> {
  const { id } = contract();
  await api.database.db.query('UPDATE contract SET deadline = announced_at, due_at = announced_at WHERE id = $1', [id]);
  await until('the contract is awarded', async () => {
    const { body } = await api.call('GET', `/v1/contracts/${id}`);
    return body['state'] === 'awarded';
  });
}

async function announceAgain(): Promise<void> {
  const { body } = await api.call('POST', '/v1/contracts', { body: exampleOf('contracts.announce') });
  cancellable = String(body['id']);
}

/** No replica executes runs here, so the test puts the run into the waiting state. */
async function wait(waitingFor: 'input' | 'approval'): Promise<void> {
  const { callId, inputHash } = exampleOf('runs.decide');
  const result = { parts: [], approvals: [{ callId, inputHash, tool: 'pay', input: { eur: 5 } }] };
  await api.database.db.query(`UPDATE run SET state = 'waiting', waiting_for = $2, result = $3 WHERE id = $1`, [
    run()['id'],
    waitingFor,
    JSON.stringify(result),
  ]);
}

async function beginConversation(): Promise<void> {
  const body = { ...exampleOf('runs.start'), conversationId: 'release-notes' };
  expect((await api.call('POST', '/v1/runs', { body })).status).toBe(202);
}

function exampleOf(operationId: string): Record<string, unknown> {
  return prefilled(document.components, operationOf(operationId)).body as Record<string, unknown>;
}

async function registerAgain(): Promise<void> {
  await api.given.agent({ agentId: 'builder-01' });
}

/** Waits for a delivery. The example URL does not exist, so the delivery fails and is parked. */
async function firstDelivery(): Promise<void> {
  const path = `/v1/webhooks/${valueOf('webhooks.create', 'id')}/deliveries?state=parked`;
  await until('a delivery is parked', async () => (await api.call<Page>('GET', path)).body.items.length > 0);
}

function firstSequence(): string {
  const { items } = responses['webhooks.listDeliveries'] as unknown as Page;
  return String(items.find(({ state }) => state === 'parked')?.sequence);
}

beforeAll(async () => {
  const settings = {
    ROLLCALL_SEALING_KEY: 'k'.repeat(32),
    ROLLCALL_SKILLS_DIR: 'examples/skills',
    ROLLCALL_WORKSPACES: workspaces,
    ROLLCALL_RUNS_MAX: '0', // runs stay in the queue, so that they can be cancelled
  };
  api = await startApi(settings, { constants: { webhooks: { tries: 1 } } });
  document = await documentOf(api);
  check = new ResponseCheck(document);
});
afterAll(async () => {
  await api.stop();
  rmSync(workspaces, { recursive: true, force: true });
});

function operationOf(id: string): Operation {
  const operation = operationsOf(document).find(({ operationId }) => operationId === id);
  if (!operation) throw new Error(`the document has no ${id}`);
  return operation;
}

async function send(operation: Operation, { path, key }: Step): Promise<Answer> {
  const request = prefilled(document.components, operation, path?.());
  if (operation.operationId.endsWith('.stream')) return await open(request.path);
  const options = { body: request.body, headers: request.headers, ...(key && { key: key() }) };
  return await api.call(operation.method, request.path, options);
}

/** Reads only the head of the response, because the stream does not end. */
async function open(path: string): Promise<Answer> {
  const stop = new AbortController();
  const headers = { authorization: `Bearer ${api.adminKey}` };
  const { status, headers: answered } = await fetch(api.url + path, { headers, signal: stop.signal });
  stop.abort();
  return { status, headers: answered, body: {} };
}

describe('the requests that /docs pre-fills', () => {
  it('this test lists all requests that /docs pre-fills', () => {
    const listed = STEPS.map(({ operationId }) => operationId);
    const documented = operationsOf(document).map(({ operationId }) => operationId);
    expect(listed.toSorted()).toEqual(documented.toSorted());
  });

  it.each(STEPS)('$operationId succeeds, and its response matches the document', async (step) => {
    const operation = operationOf(step.operationId);
    await step.before?.();
    const answer = await send(operation, step);
    expect({ status: String(answer.status), body: answer.body }).toMatchObject({ status: operation.success });
    expect(check.errorsOf(operation, answer.body)).toEqual([]);
    responses[step.operationId] = answer.body;
  });

  it('an undocumented field is an error, because the schemas are closed', () => {
    const operation = operationOf('agents.get');
    const { agent } = responses['agents.register'] ?? {};
    expect(check.errorsOf(operation, agent)).toEqual([]);
    expect(check.errorsOf(operation, { ...(agent as object), colour: 'red', name: 7 })).toHaveLength(2);
  });

  it('the agent of the examples is evicted at the end', async () => {
    expect((await api.call('GET', AGENT)).body).toMatchObject({ status: 'left', leaveReason: 'evicted' });
  });
});
