import type { Browser } from 'playwright-core';
import { until } from '#rollcall/test-support';
import { ROLES } from '../../apps/api/src/auth/permissions.js';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import { TestAgents } from '../support/test-agents.js';

/** What a caller acts on. Each call of an action changes it, so the page gets objects of its own. */
interface Targets {
  agent: string;
  drained: string;
  /** Runs of another caller. */
  waiting: { id: string; callId: string; inputHash: string };
  asking: string;
  running: string;
  finished: string;
  /** Objects of this caller. Those of an administrator, if the caller may not create them. */
  ownRun: string;
  ownContract: string;
  budget: string;
  definition: string;
  contract: string;
  webhook: string;
  key: string;
  namespace: string;
}

interface ActionRow {
  /** The screen, and the button, link or field of the action. */
  at: (targets: Targets) => string;
  control: string;
  kind?: 'button' | 'link' | 'checkbox' | 'textbox';
  /** The part of the screen that contains the control, if there are several controls of the name. */
  within?: (targets: Targets) => string;
  request: (targets: Targets) => [method: string, path: string, body?: object];
}

const decision = ({ waiting: { callId, inputHash } }: Targets): object => ({ callId, inputHash, approved: true });
const content = { description: 'Works.', model: { vendor: 'test', model: 'worker' }, tools: ['work'] };

/** Every action of the console. */
const ACTIONS: readonly ActionRow[] = [
  {
    at: ({ agent }) => `#/agents/${agent}`,
    control: 'Drain…',
    request: ({ agent }) => ['POST', `/v1/agents/${agent}/drain`, {}],
  },
  {
    at: ({ drained }) => `#/agents/${drained}`,
    control: 'Resume…',
    request: ({ drained }) => ['POST', `/v1/agents/${drained}/resume`, {}],
  },
  {
    at: ({ agent }) => `#/agents/${agent}`,
    control: 'Quarantine…',
    request: ({ agent }) => ['POST', `/v1/agents/${agent}/quarantine`, {}],
  },
  {
    at: ({ agent }) => `#/agents/${agent}`,
    control: 'Evict…',
    request: ({ agent }) => ['POST', `/v1/agents/${agent}/evict`],
  },
  {
    at: () => '#/fleet',
    control: 'Select all that are loaded',
    kind: 'checkbox',
    request: ({ drained }) => ['POST', `/v1/agents/${drained}/drain`, {}],
  },
  {
    at: () => '#/',
    control: 'Approve…',
    request: (targets) => ['POST', `/v1/runs/${targets.waiting.id}/approvals`, decision(targets)],
  },
  {
    at: () => '#/',
    control: 'Top up…',
    request: ({ budget }) => ['POST', `/v1/budgets/${budget}/topup`, { tokens: 1 }],
  },
  {
    at: ({ budget }) => `#/budgets/${budget}`,
    control: 'Adjust…',
    request: ({ budget }) => ['POST', `/v1/budgets/${budget}/adjust`, { used: { tokens: 99_000 }, note: 'x' }],
  },
  {
    at: ({ budget }) => `#/budgets/${budget}`,
    control: 'Top up…',
    request: ({ budget }) => ['POST', `/v1/budgets/${budget}/topup`, { tokens: 1 }],
  },
  {
    at: ({ running }) => `#/runs/${running}`,
    control: 'Cancel…',
    request: ({ running }) => ['POST', `/v1/runs/${running}/cancel`],
  },
  {
    at: ({ ownRun }) => `#/runs/${ownRun}`,
    control: 'Cancel…',
    request: ({ ownRun }) => ['POST', `/v1/runs/${ownRun}/cancel`],
  },
  {
    at: ({ finished }) => `#/runs/${finished}`,
    control: 'Retry…',
    request: ({ finished }) => ['POST', `/v1/runs/${finished}/retry`],
  },
  {
    at: ({ asking }) => `#/runs/${asking}`,
    control: 'Answer',
    request: ({ asking }) => ['POST', `/v1/runs/${asking}/messages`, { input: 'main' }],
  },
  {
    at: () => '#/definitions',
    control: 'New definition',
    kind: 'link',
    request: ({ definition }) => ['POST', '/v1/definitions', { name: `${definition}-2`, content }],
  },
  {
    at: () => '#/definitions',
    control: 'Choose files…',
    request: () => ['POST', '/v1/definition-imports', { files: [{ path: 'a.md', content: 'x' }] }],
  },
  {
    at: ({ definition }) => `#/definitions/${definition}`,
    control: 'Try it',
    kind: 'link',
    request: ({ definition }) => ['POST', '/v1/runs', { definition, input: 'x' }],
  },
  {
    at: ({ definition }) => `#/definitions/${definition}`,
    control: 'Spawn…',
    request: ({ definition }) => ['POST', '/v1/runtime/agents', { definition, name: `${definition}-b` }],
  },
  {
    at: ({ definition }) => `#/definitions/${definition}`,
    control: 'Shut down…',
    request: ({ definition }) => ['DELETE', `/v1/runtime/agents/${definition}-a`],
  },
  {
    at: ({ definition }) => `#/definitions/${definition}`,
    control: 'Instructions the system prompt',
    kind: 'textbox',
    within: () => 'label:has(textarea:not([readonly]))',
    request: ({ definition }) => [
      'PUT',
      `/v1/definitions/${definition}`,
      { content: { ...content, maxIterations: 3 } },
    ],
  },
  {
    at: ({ definition }) => `#/definitions/${definition}`,
    control: 'Remove…',
    request: ({ definition }) => ['DELETE', `/v1/definitions/${definition}`],
  },
  {
    at: ({ contract }) => `#/contracts/${contract}`,
    control: 'Cancel…',
    request: ({ contract }) => ['POST', `/v1/contracts/${contract}/cancel`],
  },
  {
    at: ({ ownContract }) => `#/contracts/${ownContract}`,
    control: 'Cancel…',
    request: ({ ownContract }) => ['POST', `/v1/contracts/${ownContract}/cancel`],
  },
  {
    at: ({ definition }) => `#/try?definition=${definition}`,
    control: 'Send',
    request: () => ['POST', '/v1/runs', { definition: 'payer', input: 'x' }],
  },
  { at: () => '#/history', control: 'Audit log', kind: 'link', request: () => ['GET', '/v1/audit'] },
  {
    at: () => '#/access',
    control: 'Issue a key…',
    request: () => ['POST', '/v1/keys', { name: 'x', roles: ['viewer'] }],
  },
  { at: () => '#/access', control: 'Rotate…', request: ({ key }) => ['POST', `/v1/keys/${key}/rotate`, {}] },
  { at: () => '#/access', control: 'Revoke…', request: ({ key }) => ['DELETE', `/v1/keys/${key}`] },
  {
    at: () => '#/access',
    control: 'Create a webhook…',
    request: () => ['POST', '/v1/webhooks', { url: 'http://127.0.0.1:8089/x' }],
  },
  {
    at: () => '#/access',
    control: 'Replay…',
    request: ({ webhook }) => ['POST', `/v1/webhooks/${webhook}/replay`, {}],
  },
  {
    at: () => '#/access',
    control: 'Pause…',
    request: ({ webhook }) => ['PATCH', `/v1/webhooks/${webhook}`, { paused: true }],
  },
  {
    at: () => '#/access',
    control: 'Rotate secret…',
    request: ({ webhook }) => ['POST', `/v1/webhooks/${webhook}/rotate`, {}],
  },
  {
    at: () => '#/access',
    control: 'Delete…',
    within: () => '.sink',
    request: ({ webhook }) => ['DELETE', `/v1/webhooks/${webhook}`],
  },
  {
    at: () => '#/access',
    control: 'Create a namespace…',
    request: ({ namespace }) => ['POST', '/v1/namespaces', { name: `${namespace}-2` }],
  },
  {
    at: () => '#/access',
    control: 'Limits…',
    request: ({ namespace }) => ['PATCH', `/v1/namespaces/${namespace}`, { limits: { agents: 9 } }],
  },
  {
    at: () => '#/access',
    control: 'Delete…',
    within: () => 'table',
    request: ({ namespace }) => ['DELETE', `/v1/namespaces/${namespace}`],
  },
];

/** Every screen of the navigation, with the request that it begins with. */
const SCREENS: Readonly<Record<string, [method: string, path: string, body?: object]>> = {
  Overview: ['GET', '/v1/registry/summary'],
  Fleet: ['GET', '/v1/agents'],
  'Who is picked?': ['POST', '/v1/agents/query', { capabilities: ['build'] }],
  Runs: ['GET', '/v1/runs'],
  'Try it': ['POST', '/v1/runs', { definition: 'payer', input: 'Pay.' }],
  Budgets: ['GET', '/v1/budgets'],
  Definitions: ['GET', '/v1/definitions'],
  Contracts: ['GET', '/v1/contracts'],
  History: ['GET', '/v1/events'],
  Access: ['GET', '/v1/namespaces/default'],
};

let api: TestApi;
let browser: Browser;
const agents = new TestAgents();
let number = 0;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_HEARTBEAT_EVERY: '10m', ROLLCALL_EGRESS_ALLOW: '127.0.0.1' });
  agents.install(api);
  await agents.define(api);
  agents.reset();
  await api.given.agent({ agentId: 'bidder', capabilities: ['build'] });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  agents.finish();
  await api.stop();
});

/** Creates an object as the administrator, or as this caller if it may. */
async function create(path: string, body: object, key?: string): Promise<Record<string, unknown>> {
  const own = key === undefined ? undefined : await api.call('POST', path, { key, body });
  const answer = own?.status === 403 || own === undefined ? await api.call('POST', path, { body }) : own;
  expect([path, answer.status < 300]).toEqual([path, true]);
  return answer.body;
}

async function targetsFor(key: string): Promise<Targets> {
  const name = `target-${++number}`;
  await api.given.agent({ agentId: name, capabilities: ['build'] });
  await api.given.agent({ agentId: `${name}-drained`, capabilities: ['build'] });
  await api.call('POST', `/v1/agents/${name}-drained/drain`, { body: {} });
  const definition = `${name}-work`;
  await create('/v1/definitions', { name: definition, content });
  await create('/v1/runtime/agents', { definition, name: `${definition}-a` });
  const budget = await create('/v1/budgets', {
    kind: 'caller',
    subject: `key:${name}`,
    window: 'daily',
    limit: { tokens: 100_000 },
  });
  const id = String(budget['id']);
  await api.call('POST', `/v1/budgets/${id}/adjust`, { body: { used: { tokens: 99_000 }, note: 'as billed' } });
  const start = async (named: string, as?: string): Promise<string> =>
    String((await create('/v1/runs', { definition: named, input: 'Go.' }, as))['id']);
  const [waiting, asking, running, finished] = [
    await start('payer'),
    await start('asker'),
    await start('talker'),
    await start('talker'),
  ];
  const ownRun = await start('talker', key);
  await api.call('POST', `/v1/runs/${finished}/cancel`);
  const terms = { capabilities: ['build'], task: 'Build.', bidWithinMs: 600_000 };
  return {
    agent: name,
    drained: `${name}-drained`,
    waiting: { id: waiting, ...(await pendingCall(waiting)) },
    asking: await reach(asking, 'waiting'),
    running: await reach(running, 'running'),
    finished: await reach(finished, 'cancelled'),
    ownRun: await reach(ownRun, 'running'),
    ownContract: String((await create('/v1/contracts', terms, key))['id']),
    budget: id,
    definition,
    contract: String((await create('/v1/contracts', terms))['id']),
    webhook: String((await create('/v1/webhooks', { url: 'http://127.0.0.1:8089/hook' }))['id']),
    key: String((await create('/v1/keys', { name, roles: ['viewer'], namespace: 'default' }))['id']),
    namespace: String((await create('/v1/namespaces', { name }))['name']),
  };
}

/** Ends the runs, so that they leave room for those of the next caller. */
async function release({ running, ownRun }: Targets): Promise<void> {
  for (const id of [running, ownRun]) await api.call('POST', `/v1/runs/${id}/cancel`);
}

async function reach(id: string, state: string): Promise<string> {
  await until(`the run is ${state}`, async () => (await api.call('GET', `/v1/runs/${id}`)).body['state'] === state);
  return id;
}

async function pendingCall(id: string): Promise<{ callId: string; inputHash: string }> {
  await reach(id, 'waiting');
  const { body } = await api.call<{ result: { approvals: [{ callId: string; inputHash: string }] } }>(
    'GET',
    `/v1/runs/${id}`,
  );
  const [{ callId, inputHash }] = body.result.approvals;
  return { callId, inputHash };
}

/** The actions that the server accepts from this caller. Each has an effect. */
async function acceptedOf(key: string): Promise<boolean[]> {
  const accepted: boolean[] = [];
  const targets = await targetsFor(key);
  for (const { request, control } of ACTIONS) {
    const [method, path, body] = request(targets);
    const { status } = await api.call(method, path, { key, body });
    expect([control, status < 500]).toEqual([control, true]);
    accepted.push(status < 300);
  }
  await release(targets);
  return accepted;
}

async function offeredOf(tab: ConsolePage, expected: readonly boolean[], targets: Targets): Promise<boolean[]> {
  const offered: boolean[] = [];
  let shown = '';
  for (const [index, { at, control, kind = 'button', within }] of ACTIONS.entries()) {
    const screen = at(targets);
    if (screen !== shown) await tab.go(screen);
    await tab.settled(); // the screen before may have a control of the same name
    shown = screen;
    const place = within ? tab.page.locator(within(targets)) : tab.page.locator('main');
    const found = place.getByRole(kind, { name: control, exact: true }).first();
    if (expected[index]) await found.waitFor({ timeout: 30_000 }).catch(() => undefined);
    offered.push((await found.count()) > 0);
  }
  return offered;
}

const CREDENTIALS: readonly [name: string, issue: () => Promise<string>][] = [
  ...ROLES.map((role): [string, () => Promise<string>] => [role, async () => await api.given.key(role)]),
  ['admin of one namespace', async () => await api.issueKeyIn('default', 'admin')],
];

describe('what the console offers', () => {
  it.each(CREDENTIALS)('S-3 the console offers the role %s exactly what the server accepts', async (name, issue) => {
    const key = await issue();
    const accepted = await acceptedOf(key);
    if (name === 'admin') expect(accepted).not.toContain(false); // so each row is an action that exists
    const targets = await targetsFor(key);
    const tab = await ConsolePage.open(browser, api.url);
    await tab.signIn(key);
    const offered = await offeredOf(tab, accepted, targets);
    const label = (index: number): string => `${ACTIONS[index]?.at(targets)} ${ACTIONS[index]?.control}`;
    const named = (all: readonly boolean[]): string[] => all.flatMap((is, index) => (is ? label(index) : []));
    expect(named(offered)).toEqual(named(accepted));
    const screens = await tab.page.getByRole('navigation', { name: 'Screens' }).getByRole('link').allInnerTexts();
    for (const screen of screens) expect(Object.keys(SCREENS)).toContain(screen);
    for (const [screen, [method, path, body]] of Object.entries(SCREENS)) {
      const { status } = await api.call(method, path, { key, body });
      expect([screen, screens.includes(screen)]).toEqual([screen, status < 300]);
    }
    expect(tab.faults).toEqual([]);
    await tab.close();
    await release(targets);
  });

  it('B1 a revoked key signs the page out also if its role reads no events', async () => {
    const issued = await api.call('POST', '/v1/keys', { body: { name: 'shop', roles: ['caller'] } });
    const tab = await ConsolePage.open(browser, api.url);
    await tab.signIn(String(issued.body['key']));
    await tab.go('#/access');
    await tab.page.getByText('not live').waitFor();
    await tab.settled();
    await api.call('DELETE', `/v1/keys/${String(issued.body['id'])}`);
    await tab.page.getByText('Your session has ended').waitFor();
    await tab.close();
  });

  it('S-3 a caller whose key was rotated is still offered to cancel its own runs', async () => {
    const first = await api.call('POST', '/v1/keys', { body: { name: 'shop', roles: ['caller'] } });
    const { ownRun } = await targetsFor(String(first.body['key']));
    const rotated = await api.call('POST', `/v1/keys/${String(first.body['id'])}/rotate`, { body: {} });
    const tab = await ConsolePage.open(browser, api.url);
    await tab.signIn(String(rotated.body['key']));
    await tab.go(`#/runs/${ownRun}`);
    await tab.page.getByRole('button', { name: 'Cancel…' }).waitFor();
    await tab.close();
  });
});
