import type { Browser } from 'playwright-core';
import { defineTool, ToolCatalog } from '#rollcall/agent-runtime';
import { VendorRegistry } from '#rollcall/providers';
import { callTool, say, ScriptedModel } from '#rollcall/providers/testing';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';

/** Markup, a link with a script, characters that change the direction of a text, and a way out of an attribute. */
const EVIL = `<img src=x onerror=alert(1)><script>alert(1)</script>[x](javascript:alert(1))"' onload=\u202egnp.exe\u2066`;
const LONG = `${EVIL}${'x'.repeat(100_000)}`;
/** Long texts fold: no screen shows more than a few of them at once. */
const MOST_TEXT = 60_000;

let api: TestApi;
let browser: Browser;
let tab: ConsolePage;
/** The addresses of everything that hostile agents, models, tools and callers have written. */
const screens: string[] = [];

beforeAll(async () => {
  api = await startApi({ ROLLCALL_HEARTBEAT_EVERY: '10m', ROLLCALL_EGRESS_ALLOW: '127.0.0.1' });
  installHostileModels();
  await seed();
  browser = await openBrowser();
  tab = await ConsolePage.open(browser, api.url);
  await tab.signIn(api.adminKey);
});
afterAll(async () => {
  await tab.close();
  await browser.close();
  await api.stop();
});

/** The model writes hostile text, and calls tools with it; the tools return it. */
function installHostileModels(): void {
  const tools = [
    defineTool({ name: 'leak', description: EVIL, idempotent: true, execute: async () => await Promise.resolve(LONG) }),
    defineTool({
      name: 'spend',
      description: EVIL,
      needsApproval: true,
      execute: async () => await Promise.resolve(EVIL),
    }),
  ];
  api.app.nest.get(ToolCatalog, { strict: false }).add({ name: 'hostile-tools', tools: () => tools });
  const open = ({ model }: { model: string }): ScriptedModel =>
    new ScriptedModel(({ messages }) => {
      const replies = messages.filter(({ role }) => role === 'assistant').length;
      if (replies > 0) return say(LONG);
      return callTool(model === 'spender' ? 'spend' : 'leak', { path: EVIL, note: LONG }, 'call-1');
    }, model);
  api.app.nest.get(VendorRegistry, { strict: false }).register({ name: 'hostile', needsKey: false, open });
}

async function create(path: string, body: object, method = 'POST'): Promise<Record<string, unknown>> {
  const answer = await api.call(method, path, { body });
  if (answer.status >= 300) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

async function seed(): Promise<void> {
  const card = { name: EVIL, url: 'javascript:alert(1)', description: LONG.slice(0, 60_000) };
  const agent = await api.given.agent({
    agentId: 'hostile',
    name: EVIL,
    version: EVIL,
    capabilities: ['build'],
    labels: { team: EVIL },
    agentCard: card,
  });
  await create('/v1/agents/hostile/drain', { note: EVIL });
  await create('/v1/agents/hostile/outcomes', { ok: false });
  for (const model of ['leaker', 'spender']) {
    const content = {
      description: EVIL,
      instructions: `${EVIL}\n${'y'.repeat(50_000)}`,
      model: { vendor: 'hostile', model },
      tools: ['leak', 'spend'],
      metadata: { note: EVIL },
    };
    await create('/v1/definitions', { name: model, content });
    await create(`/v1/definitions/${model}`, { content: { ...content, description: `${EVIL}2` } }, 'PUT');
    const { id, state } = await create('/v1/runs?waitMs=20000', { definition: model, input: LONG.slice(0, 60_000) });
    expect([model, state]).toEqual([model, model === 'spender' ? 'waiting' : 'completed']);
    screens.push(`#/definitions/${model}`, `#/definitions/${model}?from=1&to=2`, `#/runs/${String(id)}`);
  }
  await create('/v1/agents/hostile/resume', { note: EVIL });
  const contract = await create('/v1/contracts', {
    capabilities: ['build'],
    task: LONG.slice(0, 8_000),
    bidWithinMs: 600_000,
  });
  const refusal = { agentId: 'hostile', generation: agent.generation, refuse: true, note: EVIL };
  await api.call('POST', `/v1/contracts/${String(contract['id'])}/bids`, { key: agent.leaseToken, body: refusal });
  await until('the contract has expired', async () => {
    const { body } = await api.call('GET', `/v1/contracts/${String(contract['id'])}`);
    return body['state'] === 'expired';
  });
  const budget = await api.given.budget({ kind: 'caller', subject: 'key:hostile', limit: { tokens: 10 } });
  await create(`/v1/budgets/${String(budget['id'])}/adjust`, { used: { tokens: 9 }, note: EVIL });
  await create('/v1/keys', { name: EVIL.slice(0, 100), roles: ['viewer'] });
  await create('/v1/webhooks', { url: 'http://127.0.0.1:8089/<img>', description: EVIL });
  await create('/v1/namespaces', { name: 'hostile', description: EVIL });
  screens.push(
    '#/agents/hostile',
    `#/contracts/${String(contract['id'])}`,
    `#/budgets/${String(budget['id'])}`,
    '#/audit',
  );
}

/** Shows all that can be unfolded, and what it is. */
async function unfold(): Promise<void> {
  await tab.page.evaluate("document.querySelectorAll('main details').forEach((details) => (details.open = true))");
}

async function expectHarmless(screen: string): Promise<void> {
  const { page } = tab;
  const text = await page.locator('body').innerText();
  const found = {
    elements: await page.locator('main :is(img, script, iframe, object, style)').count(),
    links: await page.locator('a[href^="javascript" i], a[href^="http" i]:not([href*="/console/"])').count(),
    directions: /[\u202a-\u202e\u2066-\u2069]/.test(text),
    isFolded: text.length < MOST_TEXT,
    isCutOff: (await tab.overflow()) > 0,
    faults: tab.faults.splice(0),
  };
  const harmless = { elements: 0, links: 0, directions: false, isFolded: true, isCutOff: false, faults: [] };
  expect([screen, found]).toEqual([screen, harmless]);
}

describe('hostile texts in the console', () => {
  it('S3 through all screens: no markup, no script, no request to another origin, no change of direction, nothing cut off', async () => {
    const navigation = tab.page.getByRole('navigation', { name: 'Screens' }).getByRole('link');
    await navigation.first().waitFor();
    const all = [...screens];
    for (const link of await navigation.all()) all.push(String(await link.getAttribute('href')).replace(/^[^#]*/, ''));
    expect(all.length).toBeGreaterThan(15);
    for (const screen of all) {
      await tab.go(screen);
      await tab.settled();
      await unfold();
      await tab.settled();
      await expectHarmless(screen);
    }
  });

  it('S-3 after the sign-in and all screens, the key is in no storage, address or request', async () => {
    const stored = await tab.page.evaluate<string>(
      'JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])',
    );
    expect(stored).not.toContain(api.adminKey);
    const first = tab.requests.findIndex((request) => request.includes('/v1/sessions '));
    expect(first).toBeGreaterThan(0);
    expect(tab.requests.slice(first + 1).length).toBeGreaterThan(50);
    expect(tab.requests.slice(first + 1).join()).not.toContain(api.adminKey);
    expect(tab.page.url()).not.toContain(api.adminKey);
  });

  it('S3 the dialog of a call that waits shows its exact arguments as text', async () => {
    await tab.go('#/');
    await tab.page.getByRole('button', { name: 'Approve…' }).first().click();
    await tab.page.getByRole('dialog').getByText('<img src=x onerror=alert(1)>').first().waitFor();
    await expectHarmless('the dialog');
  });
});
