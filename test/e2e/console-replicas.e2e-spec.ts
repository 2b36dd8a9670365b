import type { Browser } from 'playwright-core';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import type { GivenAgent } from '../support/given.js';
import { PathProxy } from '../support/path-proxy.js';

/** Two replicas behind a reverse proxy below a path. */
let api: TestApi;
let other: TestApi;
let proxy: PathProxy;
let browser: Browser;
let tab: ConsolePage;
let beats: ReturnType<typeof setInterval>;
const healthy: GivenAgent[] = [];
/** The sequences of the events that the page received, in their order. */
const received: number[] = [];

beforeAll(async () => {
  // an agent is suspect after two beats; the rest is the time in which the page must show it
  api = await startApi({ ROLLCALL_HEARTBEAT_EVERY: '2s', ROLLCALL_MISSED_BEATS: '6' });
  other = await api.replica();
  proxy = await PathProxy.start('/rollcall', [api.url, other.url]);
  for (let number = 1; number <= 5; number += 1) healthy.push(await api.given.agent({ agentId: `healthy-${number}` }));
  beats = setInterval(() => void beat(), 500);
  browser = await openBrowser();
  tab = await ConsolePage.open(browser, proxy.url);
  tab.page.setDefaultTimeout(60_000); // evictions take their time
  tab.page.on('websocket', (socket) => socket.on('framereceived', ({ payload }) => record(String(payload))));
  await tab.signIn(api.adminKey);
});
afterAll(async () => {
  clearInterval(beats);
  await tab.close();
  await browser.close();
  await proxy.stop();
  await api.stop();
});
afterEach(() => expect(tab.faults.filter((fault) => !isLostConnection(fault))).toEqual([]));

/** Keeps the healthy agents alive, as their processes would. */
async function beat(): Promise<void> {
  for (const { agentId, generation, leaseToken: key } of healthy)
    await api.call('POST', `/v1/agents/${agentId}/heartbeat`, { key, body: { generation } }).catch(() => undefined);
}

function record(frame: string): void {
  const { event, data } = JSON.parse(frame) as { event: string; data: { sequence: string }[] };
  if (event === 'events') received.push(...data.map(({ sequence }) => Number(sequence)));
}

/** The browser reports a WebSocket that was cut; the page connects again. */
function isLostConnection(fault: string): boolean {
  return fault.includes('WebSocket connection to');
}

const text = (pattern: string | RegExp): ReturnType<ConsolePage['page']['getByText']> => tab.page.getByText(pattern);
const live = async (): Promise<void> => await tab.page.getByRole('button', { name: 'live', exact: true }).waitFor();

describe('the console behind a proxy below /rollcall/', () => {
  it('B3 a killed agent turns suspect and leaves, in an open page without a reload', async () => {
    await live();
    await tab.page.evaluate('globalThis.isSamePage = true');
    await tab.go('#/fleet');
    await tab.page.getByRole('link', { name: 'healthy-5' }).waitFor();
    await api.given.agent({ agentId: 'killed' });
    const row = tab.page.getByRole('row', { name: /killed/ });
    await row.getByText('active').waitFor();
    await row.getByText('suspect').waitFor();
    await row.waitFor({ state: 'detached' });
    await tab.go('#/history');
    await text('killed, evicted').waitFor();
    await text('Agent is suspect').first().waitFor();
    expect(await tab.page.evaluate('globalThis.isSamePage')).toBe(true);
    expect(tab.page.url()).toMatch(/\/rollcall\/console\/#\/history/);
  });

  it('B3 one replica is stopped: the page continues without a gap in the sequence', async () => {
    proxy.leadTo([other.url]);
    await until('the page is connected to the other replica', () => proxy.upgradedTo === new URL(other.url).origin);
    await live();
    await other.stop();
    proxy.leadTo([api.url]);
    for (let number = 1; number <= 3; number += 1)
      await api.call('POST', '/v1/agents', {
        body: { agentId: `meanwhile-${number}`, name: 'm', capabilities: ['m'] },
      });
    await text('meanwhile-3').first().waitFor();
    await live();
    await api.call('POST', '/v1/agents', { body: { agentId: 'afterwards', name: 'm', capabilities: ['m'] } });
    await text('afterwards').first().waitFor();
    const { body } = await api.call<{ items: { sequence: string }[] }>('GET', '/v1/events?before=latest&limit=500');
    const all = body.items.map(({ sequence }) => Number(sequence)).toSorted((one, next) => one - next);
    const [first = 0] = received;
    await until('the page has received the newest event', () => received.includes(all.at(-1) ?? 0));
    expect(received.slice(0, all.length)).toEqual(all.filter((sequence) => sequence >= first));
    expect(await tab.page.evaluate('globalThis.isSamePage')).toBe(true);
  });

  it('B3 an expired cursor heals itself: the page reads everything again', async () => {
    await live();
    await tab.go('#/fleet');
    proxy.leadTo([]);
    await text('connecting').waitFor();
    await api.given.agent({ agentId: 'unseen' });
    await api.call('DELETE', '/v1/agents/healthy-5?generation=1', { key: healthy.pop()?.leaseToken });
    await until('the events are in the log', async () => {
      const { body } = await api.call<{ items: { subject: string }[] }>('GET', '/v1/events?before=latest&limit=1');
      return body.items[0]?.subject === 'healthy-5';
    });
    await api.database.db.query('DELETE FROM event_log');
    proxy.leadTo([api.url]);
    await tab.page.getByRole('link', { name: 'unseen' }).waitFor();
    await tab.page.getByRole('link', { name: 'healthy-5' }).waitFor({ state: 'detached' });
    await live();
    await api.given.agent({ agentId: 'live-again' });
    await tab.page.getByRole('link', { name: 'live-again' }).waitFor();
    expect(await tab.page.evaluate('globalThis.isSamePage')).toBe(true);
  });
});
