import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import { TestAgents } from '../support/test-agents.js';

let api: TestApi;
let browser: Browser;
let agents: TestAgents;
let tab: ConsolePage;

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

/** A small fleet in which something of everything needs a person. */
async function seed(): Promise<void> {
  for (let number = 1; number <= 6; number += 1) {
    const capabilities = number % 2 === 0 ? ['build', 'plan'] : ['build'];
    const agent = await api.given.agent({
      agentId: `builder-0${number}`,
      capabilities,
      capacity: 8,
      costModel: { usdPer1kTokens: 0.003 },
      ...(number === 3 && { budget: { totalTokens: 400_000, usedTokens: 390_000 } }),
      ...(number === 2 && { circuit: 'open' as const }),
    });
    await api.call('POST', `/v1/agents/${agent.agentId}/heartbeat`, {
      key: agent.leaseToken,
      body: { generation: 1, inFlight: number, load: number / 8 },
    });
  }
  const limit = { tokens: 120_000 };
  const { id } = await api.given.budget({ kind: 'caller', subject: 'key:checkout', window: 'daily', limit });
  await api.call('POST', `/v1/budgets/${String(id)}/adjust`, {
    body: { used: { tokens: 117_000 }, note: 'as billed' },
  });
  await api.call('POST', '/v1/budgets/reservations', {
    body: { key: 'spent', agentId: 'builder-01', tokens: 117_000, microUsd: 16_420_000 },
  });
  await api.call('POST', '/v1/budgets/reservations/spent/settle', { body: { tokens: 116_500, microUsd: 16_420_000 } });
}

async function waitingRun(): Promise<string> {
  const body = { definition: 'payer', input: 'Refund order A-1042.' };
  const run = await api.call('POST', '/v1/runs?waitMs=20000', { body });
  expect(run.body).toMatchObject({ state: 'waiting', waitingFor: 'approval' });
  return String(run.body['id']);
}

async function expectAccessible(): Promise<void> {
  expect(await tab.accessibilityFaults()).toEqual([]);
}

const text = (pattern: string | RegExp): ReturnType<ConsolePage['page']['getByText']> => tab.page.getByText(pattern);

afterEach(() => expect(tab.faults).toEqual([]));

describe('how the console is served', () => {
  it('S3 its page may load only files of the server, and no inline script', async () => {
    const { headers, status } = await fetch(`${api.url}/console/`);
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-cache']);
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
  });

  it('N-4 its assets are immutable and compressed, and the first page has at most 260 KB', async () => {
    const page = await (await fetch(`${api.url}/console/`)).text();
    const names = [...page.matchAll(/assets\/[\w.-]+\.(?:js|css)/g)].map(([name]) => name);
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const { headers } = await fetch(`${api.url}/console/${name}`, { headers: { 'accept-encoding': 'br' } });
      expect([headers.get('content-encoding'), headers.get('cache-control')]).toEqual([
        'br',
        'public, max-age=31536000, immutable',
      ]);
    }
    const loaded = await tab.page.evaluate<number>(
      `performance.getEntriesByType('resource')
        .filter(({ name }) => name.includes('/assets/') && !name.includes('chart'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    );
    expect(loaded).toBeGreaterThan(50_000);
    expect(loaded).toBeLessThan(260 * 1_024);
  });

  it('a browser at / is redirected to the console, any other client to the documentation', async () => {
    const locationFor = async (accept: string): Promise<string | null> =>
      (await fetch(`${api.url}/`, { redirect: 'manual', headers: { accept } })).headers.get('location');
    expect(await locationFor('text/html,*/*')).toBe('console/');
    expect(await locationFor('*/*')).toBe('docs');
    expect((await fetch(`${api.url}/console`, { redirect: 'manual' })).headers.get('location')).toBe('console/');
    expect((await fetch(`${api.url}/console/../package.json`)).status).toBe(404);
    expect((await fetch(`${api.url}/console/.stamp`)).status).toBe(404);
  });

  it('ROLLCALL_CONSOLE=off serves no console', async () => {
    const plain = await api.replica({ ROLLCALL_CONSOLE: 'off' });
    expect((await fetch(`${plain.url}/console/`)).status).toBe(404);
    const root = await fetch(`${plain.url}/`, { redirect: 'manual', headers: { accept: 'text/html' } });
    expect(root.headers.get('location')).toBe('docs');
    await plain.stop();
  });
});

describe('the overview', () => {
  it('S4 shows in words what needs a person, the counts, the cost and the last events', async () => {
    await text('misses heartbeats').or(text('its circuit is open after')).first().waitFor();
    await text(/has 2 % left of 120,000 tokens today/).waitFor();
    await text('$16.42').first().waitFor();
    await text('Circuit opened').waitFor();
    await tab.page.locator('.u-wrap canvas').waitFor();
    expect(await tab.overflow()).toBe(0);
    await tab.shoot('overview');
    await expectAccessible();
  });

  it('B3 shows an agent that joins and leaves, without a reload', async () => {
    const { agentId, leaseToken } = await api.given.agent({ agentId: 'latecomer' });
    await text('latecomer').first().waitFor();
    await tab.page.getByRole('button', { name: 'live' }).click();
    await api.call('DELETE', `/v1/agents/${agentId}?generation=1`, { key: leaseToken });
    await text('1 held back').waitFor();
    expect(await text('Agent left').count()).toBe(0);
    await tab.page.getByRole('button', { name: /held back/ }).click();
    await text('Agent left').first().waitFor();
  });

  it('B6 a waiting call is approved with the keyboard alone, and the dialog shows the exact call', async () => {
    const id = await waitingRun();
    const approve = tab.page.getByRole('button', { name: 'Approve…' });
    await approve.waitFor();
    await approve.focus();
    await tab.page.keyboard.press('Enter');
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('The run executes exactly this call').waitFor();
    await tab.shoot('approve');
    await expectAccessible();
    await dialog.getByRole('button', { name: 'Approve this call' }).focus();
    await tab.page.keyboard.press('Enter');
    await until('the run ends', async () => (await api.call('GET', `/v1/runs/${id}`)).body['state'] === 'completed');
    await approve.waitFor({ state: 'detached' });
  });

  it('S3.10 a budget is topped up with the keyboard alone', async () => {
    await tab.page.getByRole('button', { name: 'Top up…' }).focus();
    await tab.page.keyboard.press('Enter');
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByLabel('Note for the history').fill('month end');
    await dialog.getByRole('button', { name: 'Add 60,000 tokens' }).focus();
    await tab.page.keyboard.press('Enter');
    await text(/% left of 120,000 tokens today/).waitFor({ state: 'detached' });
    const audited = await api.call<{ items: object[] }>('GET', '/v1/audit?action=budget.topped_up');
    expect(audited.body.items).toMatchObject([{ details: { tokens: 60_000, note: 'month end' } }]);
  });
});

describe('the fleet', () => {
  it('B1 lists agents with load, budget and the age of the heartbeat; counts and a text filter, and the filter is in the address', async () => {
    await tab.go('#/fleet');
    await tab.page.getByRole('link', { name: 'builder-06' }).waitFor();
    await text('10,000 tokens').waitFor();
    expect(await tab.overflow()).toBe(0);
    await tab.shoot('fleet');
    await expectAccessible();
    await tab.page.getByRole('button', { name: /^circuit open/ }).click();
    await tab.page.getByRole('link', { name: 'builder-01' }).waitFor({ state: 'detached' });
    await tab.page.getByRole('link', { name: 'builder-02' }).waitFor();
    expect(tab.page.url()).toContain('circuit=open');
    expect(await tab.page.getByRole('link', { name: /^builder/ }).allTextContents()).toEqual(['builder-02']);
    await tab.page.getByRole('button', { name: /^all/ }).click();
    await tab.page.getByLabel('Find agents by name or agentId').fill('ER-05');
    await tab.page.getByRole('link', { name: 'builder-06' }).waitFor({ state: 'detached' });
    await tab.page.getByRole('link', { name: 'builder-05' }).waitFor();
    await tab.page.getByLabel('Find agents by name or agentId').fill('');
    await tab.page.getByRole('link', { name: 'builder-06' }).waitFor();
  });

  it('B1 several agents are drained with the keyboard alone, and one is resumed', async () => {
    for (const name of ['builder-05', 'builder-06']) {
      await tab.page.getByLabel(`Select ${name}`).focus();
      await tab.page.keyboard.press('Space');
    }
    await tab.page.getByRole('button', { name: 'Drain…' }).focus();
    await tab.page.keyboard.press('Enter');
    const dialog = tab.page.getByRole('dialog');
    await dialog.getByText('builder-05, builder-06').waitFor();
    await dialog.getByRole('button', { name: 'Drain 2 agents' }).focus();
    await tab.page.keyboard.press('Enter');
    await until('both agents are draining', async () => {
      const { body } = await api.call<{ items: object[] }>('GET', '/v1/agents?status=draining');
      return body.items.length === 2;
    });
    await text('draining').nth(1).waitFor();
    await tab.page.getByRole('link', { name: 'builder-06' }).click();
    await tab.page.getByRole('button', { name: 'Resume…' }).click();
    await dialog.getByRole('button', { name: 'Resume' }).click();
    await tab.page.getByRole('button', { name: 'Drain…' }).waitFor();
  });

  it('B1 shows health, circuit and desired state of an agent side by side, with budgets, calls and history', async () => {
    await tab.go('#/agents/builder-02');
    await text(/open: calls are rejected until a probe; 5 failures in a row/).waitFor();
    await text('Circuit opened').first().waitFor();
    await text('failed').nth(4).waitFor();
    expect(await tab.overflow()).toBe(0);
    await tab.shoot('agent');
    await expectAccessible();
  });

  it('S3 an agent that does not exist is a sentence with the code and the request id', async () => {
    await tab.go('#/agents/nobody');
    await text(/AGENT_NOT_FOUND · request/).waitFor();
  });

  it('S3 hostile names, labels and cards are text: no markup, no request, no change of direction', async () => {
    const evil = '<img src=x onerror=alert(1)>\u202egnp.exe';
    const card = { name: evil, url: 'javascript:alert(1)', description: 'x'.repeat(60_000) };
    const agent = {
      agentId: 'hostile',
      name: evil,
      capabilities: ['build'],
      labels: { team: evil },
      agentCard: card,
    };
    await api.given.agent(agent);
    await tab.go('#/fleet');
    await tab.page.getByRole('link', { name: 'hostile' }).click();
    await text('Agent card').waitFor();
    const content = await tab.page.locator('main').innerText();
    expect(content).toContain('<img src=x onerror=alert(1)>');
    expect(content).not.toContain('\u202e');
    expect(content.length).toBeLessThan(20_000);
    expect(await tab.page.locator('main img').count()).toBe(0);
    expect(await tab.overflow()).toBe(0);
  });
});

describe('runs', () => {
  it('B6 shows a run as a tree with bars, and the exact call that waits beside it; the run can be exported', async () => {
    const id = await waitingRun();
    await tab.go('#/runs');
    await tab.page.getByRole('link', { name: 'payer' }).first().waitFor();
    await tab.page.getByRole('button', { name: 'waiting' }).click();
    await text('waits for approval').waitFor();
    expect(await tab.page.getByRole('link', { name: 'payer' }).count()).toBe(1);
    expect(await tab.overflow()).toBe(0);
    await tab.shoot('runs');
    await expectAccessible();
    await tab.page.getByRole('link', { name: 'payer' }).click();
    expect(tab.page.url()).toContain(id);
    await tab.page.getByRole('button', { name: /payer · turn 1|model · turn 1/ }).waitFor();
    await text('waits for a decision').waitFor();
    await tab.page.getByRole('button', { name: 'message' }).click();
    await text('Refund order A-1042.').first().waitFor();
    expect(await tab.overflow()).toBe(0);
    await tab.shoot('run');
    await expectAccessible();
    await tab.page.getByRole('button', { name: 'Approve…' }).click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Approve this call' }).click();
    await tab.page.getByRole('heading', { name: 'Result' }).waitFor();
    await tab.page.getByRole('button', { name: /^pay \d/ }).waitFor();
    const downloaded = tab.page.waitForEvent('download');
    await tab.page.getByRole('button', { name: 'Export' }).click();
    const file = await downloaded;
    expect(file.suggestedFilename()).toBe(`run-${id}.json`);
    expect(readFileSync(await file.path(), 'utf8')).toContain('Refund order A-1042.');
  });

  it('B6 a question of an agent is answered on the page of its run', async () => {
    const asked = await api.call('POST', '/v1/runs?waitMs=20000', { body: { definition: 'asker', input: 'Build.' } });
    expect(asked.body).toMatchObject({ state: 'waiting', waitingFor: 'input' });
    await tab.go(`#/runs/${String(asked.body['id'])}`);
    await text('Which branch?').first().waitFor();
    await tab.shoot('answer');
    await expectAccessible();
    await tab.page.getByLabel('Your answer').fill('main');
    await tab.page.getByRole('button', { name: 'Answer' }).click();
    await tab.page.getByRole('heading', { name: 'Result' }).waitFor();
    await text('completed').first().waitFor();
  });

  it('B6 an answer appears while it is generated; a run is cancelled, and started again in a new run', async () => {
    agents.reset();
    agents.worked.resolve();
    const { body } = await api.call('POST', '/v1/runs', { body: { definition: 'talker', input: 'Talk.' } });
    await tab.go(`#/runs/${String(body['id'])}`);
    await tab.page.getByRole('heading', { name: 'Answer so far' }).waitFor();
    await text('tick tick').waitFor();
    await tab.page.getByRole('button', { name: 'Cancel…' }).click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
    await text('cancelled').first().waitFor();
    await tab.page.getByRole('button', { name: 'Retry…' }).click();
    await tab.page.getByRole('dialog').getByRole('button', { name: 'Start again' }).click();
    await tab.page.getByRole('heading', { name: 'Answer so far' }).waitFor();
    expect(tab.page.url()).not.toContain(String(body['id']));
    agents.finish();
  });
});

describe('who is signed in', () => {
  it('S-3 after the sign-in, the key is in no storage, address or request', async () => {
    const stored = await tab.page.evaluate<string>(
      'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])',
    );
    expect(stored).not.toContain(api.adminKey);
    expect(stored).toContain('rs_');
    const first = tab.requests.findIndex((request) => request.includes('/v1/sessions '));
    expect(tab.requests.slice(first + 1).join()).not.toContain(api.adminKey);
    expect(tab.page.url()).not.toContain(api.adminKey);
  });

  it('B1 a revoked key signs the page out within 2 s, and a ticket in the fragment signs in again', async () => {
    const issued = await api.call('POST', '/v1/keys', { body: { name: 'console', roles: ['viewer'] } });
    const { body } = await api.call('POST', '/v1/sessions/tickets', { key: String(issued.body['key']), body: {} });
    const viewer = await ConsolePage.open(browser, api.url, { fragment: `#ticket=${String(body['ticket'])}` });
    await viewer.page.getByRole('button', { name: 'live' }).waitFor();
    expect(viewer.page.url()).not.toContain(String(body['ticket']));
    expect(await viewer.page.getByRole('button', { name: 'Top up…' }).count()).toBe(0);
    const since = Date.now();
    await api.call('DELETE', `/v1/keys/${String(issued.body['id'])}`);
    await viewer.page.getByText('Your session has ended').waitFor();
    expect(Date.now() - since).toBeLessThan(3_000); // two seconds, and the time of the test itself
    expect(await viewer.accessibilityFaults()).toEqual([]);
    await viewer.shoot('sign-in');
    expect(viewer.faults).toEqual([]);
    await viewer.close();
  });
});
