import { execFileSync } from 'node:child_process';
import type { Browser, Locator } from 'playwright-core';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import type { GivenAgent } from '../support/given.js';
import { CliSession } from '../support/cli-session.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import { TestAgents } from '../support/test-agents.js';

let api: TestApi;
let browser: Browser;
let agents: TestAgents;
let tab: ConsolePage;

const PRICED = { vendor: 'scripted', model: 'demo', usdPerMillionTokens: { input: 3, output: 15 } };
const SUBSCRIPTION = { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' };

beforeAll(async () => {
  api = await startApi(
    {
      ROLLCALL_HEARTBEAT_EVERY: '10m',
      ROLLCALL_MODELS: JSON.stringify({ presets: { priced: PRICED }, default: 'priced' }),
    },
    { constants: { circuit: { coolDownMs: 600_000, longestCoolDownMs: 600_000 } } },
  );
  agents = new TestAgents();
  agents.install(api);
  await agents.define(api);
  const clerk = { description: 'Refunds orders.', instructions: 'Refund.', model: 'priced', tools: ['pay'] };
  await post('/v1/definitions', { name: 'refund-clerk', content: clerk });
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

const post = async (path: string, body: object): Promise<Record<string, unknown>> => {
  const answer = await api.call('POST', path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
};

const CHARGES = 24;
const HOURS_BETWEEN = 2;

/** A budget that was charged every two hours, one that is exhausted, and a run that delegated. */
async function seedBudgets(): Promise<void> {
  const { given } = api;
  await given.budget({ kind: 'fleet', limit: { microUsd: 900_000_000 }, window: 'monthly' });
  const { id } = await given.budget({ window: 'monthly', limit: { tokens: 4_000_000, microUsd: 125_000_000 } });
  await given.budget({ kind: 'caller', subject: 'key:checkout', window: 'daily', limit: { tokens: 120_000 } });
  const spent = await given.budget({
    kind: 'caller',
    subject: 'key:nightly',
    window: 'daily',
    limit: { tokens: 1_000 },
  });
  await post(`/v1/budgets/${String(spent['id'])}/adjust`, { used: { tokens: 1_000 }, note: 'as billed' });
  for (let at = 0; at < CHARGES; at += 1) {
    const microUsd = 3_000_000 + (at % 5) * 700_000;
    await post('/v1/budgets/reservations', { key: `call-${at}`, agentId: 'builder-02', tokens: 2_000, microUsd });
    await post(`/v1/budgets/reservations/call-${at}/settle`, { tokens: 1_800, microUsd });
  }
  await post('/v1/budgets/reservations', { key: 'open', agentId: 'builder-02', tokens: 2_000, microUsd: 9_000_000 });
  await post('/v1/budgets/runs', { runId: 'release-7', limit: { tokens: 50_000 } });
  await post('/v1/budgets/runs', { runId: 'tests-of-release-7', parentRunId: 'release-7', limit: { tokens: 10_000 } });
  const key = 'of-run';
  await post('/v1/budgets/reservations', { key, runId: 'tests-of-release-7', tokens: 4_000 });
  await post(`/v1/budgets/reservations/${key}/settle`, { tokens: 4_000 });
  const hours = `(SELECT count(*) FROM budget_entry o WHERE o.budget_id = e.budget_id AND o.seq > e.seq) * ${HOURS_BETWEEN}`;
  await api.database.db.query(`UPDATE budget_entry e SET at = at - ${hours} * interval '1 hour' WHERE budget_id = $1`, [
    id,
  ]);
  await api.database.db.query(`UPDATE budget SET created_at = created_at - interval '3 days' WHERE id = $1`, [id]);
}

/** Runs a command as a shell reads it. */
async function runInShell(command: string | null): Promise<void> {
  const words = execFileSync('bash', ['-c', `printf '%s\\0' ${command ?? ''}`], { encoding: 'utf8' }).split('\0');
  const [program, ...argv] = words.slice(0, -1);
  expect(program).toBe('rollcall');
  const cli = new CliSession({ ROLLCALL_URL: api.url, ROLLCALL_KEY: api.adminKey });
  const { exitCode, stderr } = await cli.run(argv);
  cli.remove();
  expect([exitCode, exitCode === 0 ? '' : stderr]).toEqual([0, '']);
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
    const ranked = async (): Promise<string[]> => await ranking.locator('tbody tr td:nth-child(2) a').allTextContents();
    // the sentence may already be there for the answer without a capability
    await until('the ranking has only builders', async () => (await ranked()).every((id) => id.startsWith('builder')));
    expect(await ranked()).toEqual(['builder-01', 'builder-02', 'builder-03']);
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

describe('try it', () => {
  const composer = (): Locator => tab.page.getByLabel('Your message');

  it('S2.10 B6 a message to a definition is answered; calls of tools, time, tokens and cost are visible', async () => {
    await tab.go('#/try');
    await text('Choose whom to talk to.').waitFor();
    await tab.page.getByLabel('Definition', { exact: true }).press('Enter');
    await tab.page.getByRole('option', { name: 'refund-clerk' }).press('Enter');
    await text('Nothing was said yet.').waitFor();
    await composer().fill('Refund order A-1042.\nCall pay {"order": "A-1042", "eur": 18}');
    await composer().press('Enter');
    await text(/waits for a decision about exactly this call/).waitFor();
    await expectGoodLooks('try-approve');
    await tab.page.getByRole('button', { name: 'Approve…' }).press('Enter');
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Approve this call' }).press('Enter');
    await tab.page.locator('.bubble.agent').getByText('paid').waitFor();
    await tab.page
      .locator('.receipt')
      .getByText(/^\$0\.00\d+$/)
      .waitFor();
    expect(agents.paid).toBe(1);
    expect(tab.page.url()).toMatch(/conversation=[\w-]{36}/);
  });

  it('S2.10 the conversation continues, also by the shown command, and is opened again from the list', async () => {
    await composer().fill('Thanks, and <b>goodbye</b>.');
    await tab.page.getByText('As a command').press('Enter');
    const command = await tab.page.getByLabel('The request as a rollcall command').textContent();
    await composer().press('Enter');
    await tab.page.locator('.bubble.agent').getByText('You said: Thanks').waitFor();
    await tab.page.getByText('As a command').press('Enter');
    expect(await tab.page.locator('.stream b').getByText('goodbye').count()).toBe(0);
    await tab.page.getByText('pay', { exact: true }).first().click();
    await text('paid').first().waitFor();
    await expectGoodLooks('try');
    await runInShell(command);
    await tab.page.locator('.bubble.agent').getByText('You said: Thanks').nth(1).waitFor();
    await text('3 messages').waitFor();
    await tab.page.getByRole('button', { name: 'New', exact: true }).click();
    await text('Nothing was said yet.').waitFor();
    await tab.page
      .getByRole('row', { name: /refund-clerk.*3 messages/ })
      .getByRole('link')
      .press('Enter');
    await tab.page.locator('.bubble.agent').getByText('You said: Thanks').nth(1).waitFor();
  });

  it('B6 an answer appears while it is generated, and is stopped; a question is answered in place', async () => {
    agents.reset();
    agents.worked.resolve();
    await tab.go('#/try?definition=talker');
    await composer().fill('Talk.');
    await tab.page.getByRole('button', { name: 'Send' }).press('Enter');
    await text('tick tick').waitFor();
    await tab.page.getByRole('button', { name: 'Stop' }).press('Enter');
    await text('cancelled').waitFor();
    agents.finish();
    await tab.go('#/try?definition=asker');
    await composer().fill('Build.');
    await composer().press('Enter');
    await tab.page.locator('.bubble.agent').getByText('Which branch?').waitFor();
    await tab.page.getByLabel('Your answer').fill('main');
    await tab.page.getByLabel('Your answer').press('Enter');
    await tab.page.locator('.bubble.agent').getByText('done').waitFor();
  });

  it('S2.10 an unknown agent is a sentence with the code, and the message stays; a conversation is deleted', async () => {
    await tab.page.getByRole('button', { name: 'Delete…' }).press('Enter');
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Delete the contents' }).press('Enter');
    await tab.page.getByRole('button', { name: 'Agent', exact: true }).press('Enter');
    await tab.page.getByLabel('Agent', { exact: true }).fill('nobody');
    await composer().fill('Hello.');
    await composer().press('Enter');
    await text(/RUN_TARGET_UNKNOWN · request/).waitFor();
    expect(await composer().inputValue()).toBe('Hello.');
  });
});

describe('budgets', () => {
  beforeAll(seedBudgets);

  it('S3.10 B2 shows all budgets as a tree with what is used, held and left; runs open to the runs below them', async () => {
    await tab.go('#/budgets');
    const tree = tab.page.getByRole('region', { name: 'Budgets' });
    await tree.getByRole('row', { name: /^default per month/ }).waitFor();
    await tree.getByRole('row', { name: /key:nightly.* 0 tokens 1,000 tokens exhausted/ }).waitFor();
    await tree.getByRole('button', { name: 'Runs', exact: true }).press('Enter');
    await tree.getByRole('button', { name: 'Runs below release-7' }).press('Enter');
    await tree.getByRole('row', { name: /tests-of-release-7.* 6,000 tokens/ }).waitFor();
    expect(await tree.getByRole('link', { name: 'tests-of-release-7' }).count()).toBe(1);
    await expectGoodLooks('budgets');
    await tab.page.getByLabel('Only budgets of this agent, caller or run').fill('builder-01');
    await tree.getByRole('link', { name: 'default' }).waitFor({ state: 'detached' });
    await tree.getByRole('link', { name: 'builder-01' }).waitFor();
    expect(tab.page.url()).toContain('subject=builder-01');
  });

  it('B2 compares the counters with the ledger on request', async () => {
    await tab.page.getByRole('button', { name: 'Compare now' }).press('Enter');
    await text(/All counters of \d+ budgets equal their ledgers/).waitFor();
    await api.database.db.query(`UPDATE budget SET used_tokens = used_tokens + 1 WHERE subject = 'builder-02'`);
    await tab.page.getByRole('button', { name: 'Compare now' }).press('Enter');
    await tab.page.getByRole('cell', { name: 'used tokens' }).waitFor();
    await api.database.db.query(`UPDATE budget SET used_tokens = used_tokens - 1 WHERE subject = 'builder-02'`);
  });

  it('S3.10 shows when a budget runs out, what is left over time, and the ledger', async () => {
    await tab.page.getByLabel('Only budgets of this agent, caller or run').fill('');
    await tab.page.getByRole('link', { name: 'default' }).click();
    await text(/exhausted .*, at the rate of the last day/).waitFor();
    await tab.page.locator('.u-wrap canvas').waitFor();
    const ledger = tab.page.getByRole('region', { name: 'Ledger' });
    expect(await ledger.getByRole('row').count()).toBe(CHARGES + 3);
    await expectGoodLooks('budget');
    await tab.page.getByRole('button', { name: 'Tokens', exact: true }).click();
    await tab.page.getByRole('img', { name: /^Left of default: [\d,]+ tokens now/ }).waitFor();
  });

  it('S3.10 a budget is topped up and adjusted with the keyboard alone, and the shown command does the same', async () => {
    await tab.page.getByRole('button', { name: 'Top up…' }).press('Enter');
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByLabel('US dollars').fill('25');
    await dialog.getByLabel('Tokens').fill('');
    await dialog.getByLabel('Note for the history').fill("release week, it's fine");
    await dialog.getByText('As a command').press('Enter');
    const command = await dialog.getByLabel('The request as a rollcall command').textContent();
    await expectGoodLooks('top-up');
    await dialog.getByRole('button', { name: 'Add $25.00' }).press('Enter');
    await text(/of 4,000,000 tokens · \$150\.00/).waitFor();
    await runInShell(command);
    await text(/of 4,000,000 tokens · \$175\.00/).waitFor();
    await tab.page.getByRole('button', { name: 'Adjust…' }).press('Enter');
    const set = dialog.getByRole('button', { name: 'Set these numbers' });
    expect(await set.isDisabled()).toBe(true);
    await dialog.getByRole('group', { name: 'New limit' }).getByLabel('US dollars').fill('500');
    await dialog.getByLabel('Note for the history').fill('as agreed');
    await set.press('Enter');
    await text(/of 4,000,000 tokens · \$500\.00/).waitFor();
    await tab.page.getByRole('cell', { name: 'as agreed' }).waitFor();
  });
});

describe('the command palette', () => {
  const find = (): Locator => tab.page.getByLabel('Find an agent, a run, a definition or an action');

  it('B1 Ctrl-K finds screens, agents, definitions, runs and actions with the keyboard alone', async () => {
    await tab.go('#/fleet');
    await tab.page.keyboard.press('Control+k');
    await find().waitFor();
    await tab.page.getByRole('option', { name: 'Budgets' }).waitFor();
    await find().fill('refund');
    await tab.page.getByRole('option', { name: /^refund-clerk definition/ }).waitFor();
    await tab.page
      .getByRole('option', { name: /^refund-clerk: Refund order A-1042/ })
      .first()
      .waitFor();
    await find().fill('builder-0');
    await tab.page.getByRole('option', { name: /^builder-05 draining/ }).waitFor();
    await expectGoodLooks('palette');
    await find().fill('builder-04');
    await tab.page.getByRole('option', { name: /^builder-04 circuit open/ }).waitFor();
    await tab.page
      .getByRole('option', { name: /builder-05/ })
      .first()
      .waitFor({ state: 'detached' });
    await find().press('Enter');
    await text(/open: calls are rejected until a probe/).waitFor();
    expect(tab.page.url()).toContain('agents/builder-04');
  });

  it('B4 an action of the palette opens its dialog, which says what will happen', async () => {
    await tab.page.getByRole('button', { name: 'Find anything' }).press('Enter');
    await find().fill('drain writer-01');
    await tab.page.getByRole('option', { name: /^Drain writer-01…/ }).click();
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('Drain writer-01?').waitFor();
    await dialog.getByText('As a command').press('Enter');
    await dialog.getByText('rollcall agents drain writer-01').waitFor();
    await dialog.getByRole('button', { name: 'Drain' }).press('Enter');
    await tab.page.getByRole('button', { name: 'Resume…' }).waitFor();
    expect((await api.call('GET', '/v1/agents/writer-01')).body).toMatchObject({ desiredState: 'draining' });
  });
});
