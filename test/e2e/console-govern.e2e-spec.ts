import type { Browser } from 'playwright-core';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import type { GivenAgent } from '../support/given.js';

let api: TestApi;
let browser: Browser;
let tab: ConsolePage;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_HEARTBEAT_EVERY: '10m' });
  browser = await openBrowser();
  tab = await ConsolePage.open(browser, api.url);
  await tab.signIn(api.adminKey);
});
afterAll(async () => {
  await tab.close();
  await browser.close();
  await api.stop();
});
afterEach(() => expect(tab.faults).toEqual([]));

const text = (pattern: string | RegExp): ReturnType<ConsolePage['page']['getByText']> => tab.page.getByText(pattern);
const button = (name: string | RegExp): ReturnType<ConsolePage['page']['getByRole']> =>
  tab.page.getByRole('button', { name });
const dialog = (): ReturnType<ConsolePage['page']['getByRole']> => tab.page.getByRole('dialog');

/** No violation of the accessibility rules, nothing cut off, and pictures of the screen. */
async function expectGoodLooks(name: string): Promise<void> {
  expect(await tab.overflow()).toBe(0);
  await tab.shoot(name);
  expect(await tab.accessibilityFaults()).toEqual([]);
}

describe('contracts (S3.9)', () => {
  const builders: GivenAgent[] = [];

  const announce = async (task: string, body: object = {}): Promise<string> => {
    const terms = { task, capabilities: ['build'], bidWithinMs: 600_000, confirmWithinMs: 600_000, ...body };
    const answer = await api.call('POST', '/v1/contracts', { body: terms });
    expect(answer.status).toBe(201);
    return String(answer.body['id']);
  };
  const send = async (id: string, what: string, index: number, body: object = {}): Promise<void> => {
    const { agentId, generation, leaseToken: key } = builders[index] ?? {};
    const path = `/v1/contracts/${id}/${what}`;
    expect((await api.call('POST', path, { key, body: { agentId, generation, ...body } })).status).toBe(200);
  };
  const bid = async (id: string, index: number, price: number): Promise<void> =>
    await send(id, 'bids', index, { price, etaMs: 60_000 + index * 30_000, confidence: 0.9 - index / 10 });
  /** The bids of all builders, so that the auction closes. The first builder gets the award. */
  const close = async (id: string): Promise<void> => {
    for (const [index, price] of [40_000, 90_000].entries()) await bid(id, index, price);
    await send(id, 'bids', 2, { refuse: true, note: 'Busy until noon.' });
    await until(
      'there is an award',
      async () => (await api.call('GET', `/v1/contracts/${id}`)).body['state'] === 'awarded',
    );
  };

  it('S3.9 the board shows open auctions with a countdown, awards, work in progress and what has ended', async () => {
    await tab.go('#/contracts');
    await text('No contract is open.').waitFor();
    for (const agentId of ['builder-01', 'builder-02', 'builder-03'])
      builders.push(await api.given.agent({ agentId, capabilities: ['build', 'plan'] }));
    const open = await announce('Build the release branch 2.4 for all platforms, and sign the packages.');
    await bid(open, 0, 40_000);
    await announce('Plan the migration of the order tables.', { capabilities: ['plan'] });
    await close(await announce('Build the nightly images.'));
    const atWork = await announce('Rebuild the search index.');
    await close(atWork);
    await send(atWork, 'confirm', 0);
    const done = await announce('Build the documentation.');
    await close(done);
    await send(done, 'confirm', 0);
    await api.call('POST', `/v1/contracts/${done}/outcome`, { body: { ok: true, microUsd: 42_000, ms: 95_000 } });
    await announce('Paint the bike shed.', { capabilities: ['paint'] });
    await text('1 of 3 answered').waitFor();
    await tab.page.getByRole('region', { name: 'At work' }).getByText('Rebuild the search index.').waitFor();
    await tab.page.getByRole('region', { name: 'Awarded' }).getByText('to confirm', { exact: true }).waitFor();
    await text('builder-01, $0.042, 1 min 35 s').waitFor();
    await text('no agent has the capabilities').waitFor();
    await expectGoodLooks('contracts');
  });

  it('S3.9 the page of a contract hides sealed bids; it shows the bids with their scores, and the transcript, once they are open', async () => {
    await tab.page.getByRole('link', { name: /Build the release branch/ }).click();
    await text('Nobody can read the bids before the auction closes').waitFor();
    expect(await tab.page.locator('main').innerText()).not.toContain('$0.04');
    await expectGoodLooks('contract-sealed');
    const id = /contracts\/(\w+)/.exec(tab.page.url())?.[1] ?? '';
    await bid(id, 1, 90_000);
    await text('2 of 3 answered').waitFor();
    await send(id, 'bids', 2, { refuse: true, note: 'Busy until noon.' });
    await text('has the award').first().waitFor();
    await text('builder-03 refused: Busy until noon.').waitFor();
    await text(/builder-01 got the award for \$0.04/).waitFor();
    await expectGoodLooks('contract');
  });

  it('S3.9 a contract is cancelled with the keyboard alone', async () => {
    await button('Cancel…').focus();
    await tab.page.keyboard.press('Enter');
    await dialog().getByRole('button', { name: 'Cancel the contract' }).focus();
    await tab.page.keyboard.press('Enter');
    await text('Cancelled by key:').waitFor();
    await button('Cancel…').waitFor({ state: 'detached' });
  });
});
