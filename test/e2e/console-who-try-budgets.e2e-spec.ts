import type { Browser, Locator } from 'playwright-core';
import { startApi, type TestApi } from '../support/api.js';
import type { GivenAgent } from '../support/given.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import { TestAgents } from '../support/test-agents.js';

let api: TestApi;
let browser: Browser;
let agents: TestAgents;
let tab: ConsolePage;

const SUBSCRIPTION = { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' };

beforeAll(async () => {
  api = await startApi(
    { ROLLCALL_HEARTBEAT_EVERY: '10m' },
    { constants: { circuit: { coolDownMs: 600_000, longestCoolDownMs: 600_000 } } },
  );
  agents = new TestAgents();
  agents.install(api);
  await agents.define(api);
  agents.reset();
  agents.worked.resolve();
  await seed();
  browser = await openBrowser();
  tab = await ConsolePage.open(browser, api.url);
  await tab.signIn(api.adminKey);
});
afterAll(async () => {
  await tab.close();
  await browser.close();
  agents.finish();
  await api.stop();
});

afterEach(() => expect(tab.faults).toEqual([]));

/** The example of the specification, and agents that are left out for different reasons. */
async function seed(): Promise<void> {
  const { given } = api;
  const plans = { provider: SUBSCRIPTION, costModel: { usdPerTask: 0 }, capacity: 8 };
  const [full, low] = [
    { totalTokens: 500_000, usedTokens: 123_456 },
    { totalTokens: 500_000, usedTokens: 488_000 },
  ];
  const busy = async (agent: GivenAgent, inFlight: number): Promise<void> => {
    const body = { generation: 1, inFlight, load: inFlight / 8 };
    await api.call('POST', `/v1/agents/${agent.agentId}/heartbeat`, { key: agent.leaseToken, body });
  };
  await busy(await given.agent({ agentId: 'builder-01', capabilities: ['build', 'plan'], ...plans, budget: full }), 3);
  await given.agent({
    agentId: 'builder-02',
    provider: { adapter: 'claude', type: 'api' },
    costModel: { usdPer1kTokens: 0.003 },
    declaredMs: 40,
  });
  await busy(await given.agent({ agentId: 'builder-03', ...plans, budget: low }), 7);
  await given.agent({ agentId: 'builder-04', costModel: { usdPerTask: 0.02 }, circuit: 'open' });
  await given.agent({ agentId: 'builder-05', costModel: { usdPerTask: 0.01 } });
  await given.agent({ agentId: 'writer-01', capabilities: ['write'], costModel: { usdPerTask: 0.05 } });
  await api.call('POST', '/v1/agents/builder-05/drain', { body: { note: 'new version' } });
}

const text = (pattern: string | RegExp): Locator => tab.page.getByText(pattern);

async function expectGoodLooks(name: string): Promise<void> {
  expect(await tab.overflow()).toBe(0);
  await tab.shoot(name);
  expect(await tab.accessibilityFaults()).toEqual([]);
}

describe('who would be picked?', () => {
  it('B1 S3.6 says in words who would be picked, with the ranking, who was left out and what would change it, and each strategy', async () => {
    await tab.go('#/who');
    await tab.page.getByLabel('Capabilities, all of').fill('build');
    await text(/builder-01 would be picked: subscription, \$0\/task, 376k tokens remaining/).waitFor();
    const ranking = tab.page.getByRole('region', { name: 'Ranking' });
    expect(await ranking.locator('tbody tr td:nth-child(2) a').allTextContents()).toEqual([
      'builder-01',
      'builder-02',
      'builder-03',
    ]);
    await ranking.getByText('low budget').waitFor();
    await text('A candidate when an operator resumes it.').waitFor();
    await text(/Its circuit is open after 5 failures/).waitFor();
    const compared = tab.page.getByRole('region', { name: 'Strategies compared' });
    await compared.getByRole('row', { name: /^fastest builder-02/ }).waitFor();
    expect(tab.page.url()).toContain('build');
    await expectGoodLooks('who');
  });

  it('B7 “why not this one?” answers for each agent: its rank, or what excludes it, also when it is nowhere near', async () => {
    const why = tab.page.getByLabel('Why not this one?');
    await why.fill('builder-03');
    await text(/rank 3/).waitFor();
    await text(/The first, builder-01/).waitFor();
    await why.fill('writer-01');
    await text('It does not claim build.').waitFor();
    await why.fill('nobody');
    await why.press('Enter');
    await text(/No agent with this agentId is registered/).waitFor();
    expect(tab.page.url()).toContain('about=nobody');
  });

  it('S3.7 a strategy is chosen from the comparison, and a query never moves the rotation', async () => {
    const first = async (): Promise<unknown> => {
      const { body } = await api.call<{ candidates: { agent: { agentId: string } }[] }>('POST', '/v1/agents/query', {
        body: { capabilities: ['build'], prefer: 'round-robin' },
      });
      return body.candidates[0]?.agent.agentId;
    };
    const before = await first();
    await tab.page.getByRole('button', { name: 'round-robin' }).click();
    await text(/would be picked: in rotation/).waitFor();
    await tab.page.getByLabel('Why not this one?').fill('');
    const names = ['builder-01', 'builder-02', 'builder-03'];
    expect(await first()).toBe(names[(names.indexOf(String(before)) + 1) % names.length]);
  });

  it('S3.12 an unknown capability offers similar ones; the JSON is the same question', async () => {
    await tab.page.getByRole('button', { name: 'JSON' }).click();
    const json = tab.page.getByLabel('Body of POST /v1/agents/query');
    expect(JSON.parse(await json.inputValue())).toEqual({ capabilities: ['build'], prefer: 'round-robin' });
    await json.fill('{"capabilities": ["buil"]');
    await text('This is not a JSON object.').waitFor();
    await json.fill('{"capabilities": ["buil"], "filter": {"labels": {"zone": "eu"}}}');
    await tab.page.getByRole('button', { name: 'build', exact: true }).click();
    await text(/needs the label|label/i)
      .first()
      .waitFor();
    await json.fill('{"capabilities": ["build"], "prefer": "wildest"}');
    await text(/Set prefer to one of: cheapest/).waitFor();
    await json.fill('{"prefer": "contract-net"}');
    await text(/the agents are really invited to bid/).waitFor();
    expect((await api.call<{ items: object[] }>('GET', '/v1/contracts')).body.items).toEqual([]);
    await tab.page.getByRole('button', { name: 'Form' }).click();
  });
});
