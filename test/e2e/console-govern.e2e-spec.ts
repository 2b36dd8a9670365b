import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { until } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { ConsolePage } from '../support/console-page.js';
import type { GivenAgent } from '../support/given.js';
import { TestAgents } from '../support/test-agents.js';
import { WebhookReceiver } from '../support/webhook-receiver.js';

let api: TestApi;
let browser: Browser;
let tab: ConsolePage;
const agents = new TestAgents();

beforeAll(async () => {
  api = await startApi({
    ROLLCALL_HEARTBEAT_EVERY: '10m',
    ROLLCALL_AGENTS_DIR: deployedAgents(),
    ROLLCALL_EGRESS_ALLOW: '127.0.0.1',
  });
  agents.install(api);
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
/** A folder with a spec file, as a deployment has it. */
function deployedAgents(): string {
  const folder = mkdtempSync(join(tmpdir(), 'console-agents-'));
  writeFileSync(join(folder, 'release-writer.md'), specFile('release-writer', 'Writes release notes.'));
  return folder;
}

function specFile(name: string, description: string, tools = 'clock'): string {
  return `---\nname: ${name}\ndescription: ${description}\ntools: ${tools}\n---\n\nYou work step by step.\n`;
}

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

describe('definitions (B5)', () => {
  const content = {
    description: 'Reviews changes of code. Use it before a merge.',
    instructions: 'You review code.\nList each problem with its line.\nBe brief.',
    model: { vendor: 'test', model: 'worker' },
    tools: ['work', 'clock'],
    capabilities: ['code.review'],
    maxIterations: 10,
    budget: { tokens: 200_000, microUsd: null },
  };

  it('B5 lists definitions with their origin and revision; what a file defines is read-only', async () => {
    for (const name of ['reviewer', 'triager'])
      expect((await api.call('POST', '/v1/definitions', { body: { name, content } })).status).toBe(201);
    await tab.go('#/definitions');
    await tab.page.getByRole('link', { name: 'triager' }).waitFor();
    await expectGoodLooks('definitions');
    await tab.page.getByRole('link', { name: 'release-writer' }).click();
    await text('Read-only.').waitFor();
    expect(await tab.page.getByLabel('Instructions').getAttribute('readonly')).not.toBeNull();
    expect(await button(/^(Remove|Publish|Restore)/).count()).toBe(0);
    await button('Spawn…').waitFor();
  });

  it('B5 shows the dry run beside the editor while it is edited, and publishes the change with the keyboard alone', async () => {
    await tab.go('#/definitions/reviewer');
    await text('test/worker').waitFor();
    await text('200,000 tokens left of 200,000 tokens').waitFor();
    const settings = tab.page.getByLabel('Settings');
    const written = await settings.inputValue();
    await settings.fill('{"tools": ["no-such-tool"]}');
    await text(/DEFINITION_INVALID/)
      .first()
      .waitFor();
    await settings.fill('{"tools": [');
    await text(/The settings are not JSON/).waitFor();
    await settings.fill(written.replace('"maxIterations": 10', '"maxIterations": 25'));
    await text('25 replies of the model').waitFor();
    await tab.page
      .getByLabel('Instructions')
      .fill('You review code.\nList each problem with its file and line.\nBe brief.');
    await text('List each problem with its file and line.').nth(1).waitFor();
    await expectGoodLooks('definition');
    await button('Publish…').focus();
    await tab.page.keyboard.press('Enter');
    await dialog().getByText('2 fields change.').waitFor();
    await tab.shoot('publish');
    await dialog().getByRole('button', { name: 'Publish' }).focus();
    await tab.page.keyboard.press('Enter');
    await dialog().waitFor({ state: 'detached' });
    await button(/^Restore/).waitFor();
    const { body } = await api.call('GET', '/v1/definitions/reviewer');
    expect(body).toMatchObject({ revision: 2, content: { maxIterations: 25, tools: ['work', 'clock'] } });
  });

  it('B5 compares revisions, restores an older one into the editor, and does not overwrite a change of somebody else', async () => {
    await tab.page.getByRole('link', { name: /^Compare revision 2/ }).click();
    await tab.page.getByRole('heading', { name: 'Revision 1 → 2' }).waitFor();
    await text('List each problem with its line.').first().waitFor();
    expect(tab.page.url()).toContain('from=1&to=2');
    await button('Restore revision 1').click();
    await button('Publish…').waitFor();
    await expectGoodLooks('definition-diff');
    await api.call('PUT', '/v1/definitions/reviewer', { body: { content: { ...content, maxIterations: 30 } } });
    await text('Revision 3 was published meanwhile').waitFor();
    await button('Publish…').click();
    await dialog().getByRole('button', { name: 'Publish' }).click();
    await text(/DEFINITION_CHANGED/)
      .first()
      .waitFor();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    await button('Discard').click();
    await text('30 replies of the model').waitFor();
  });

  it('B5 spawns an agent, shuts it down, and tries the definition in a run', async () => {
    await button('Spawn…').click();
    await dialog().getByLabel('Name of the agent').fill('reviewer-2');
    await dialog().getByRole('button', { name: 'Spawn' }).click();
    await tab.page.getByRole('link', { name: 'reviewer-2' }).waitFor();
    await button('Shut down…').click();
    await dialog().getByRole('button', { name: 'Shut down' }).click();
    await tab.page.getByRole('link', { name: 'reviewer-2' }).waitFor({ state: 'detached' });
    agents.worked.resolve();
    await tab.page.locator('main').getByRole('link', { name: 'Try it' }).click();
    await tab.page.getByPlaceholder('Write a message').fill('Review commit 4f1.');
    await button('Send').click();
    await tab.page.locator('.bubble.agent').getByText('done').waitFor();
  });

  it('B5 checks spec files that are dropped, reports the result of each file, and imports them', async () => {
    await tab.go('#/definitions');
    const files = {
      'agents/summarizer.md': specFile('summarizer', 'Summarizes threads.'),
      'agents/half.md': specFile('half', 'Knows half of its tools.', 'clock, NoSuchTool'),
      'agents/README.md': '# Our agents\n',
      'agents/broken.md': '---\nname: broken\n---\nNo.\n',
      'agents/logo.png': 'not a spec file',
    };
    const transfer = await tab.page.evaluateHandle(`(() => {
      const transfer = new DataTransfer();
      for (const [path, content] of Object.entries(${JSON.stringify(files)}))
        transfer.items.add(new File([content], path.split('/')[1]));
      return transfer;
    })()`);
    await text('Drop files or a folder here, or').dispatchEvent('drop', { dataTransfer: transfer });
    await text(/Checked: 2 can be loaded · 1 with warnings · 1 rejected · 2 skipped/).waitFor();
    expect((await api.call('GET', '/v1/definitions/summarizer')).status).toBe(404);
    await expectGoodLooks('import');
    await button('Import 2 definitions…').click();
    await dialog().getByRole('button', { name: 'Import 2 definitions' }).click();
    await text(/^Imported: 2 loaded/).waitFor();
    await tab.page.getByRole('link', { name: 'summarizer' }).waitFor();
    expect((await api.call('GET', '/v1/definitions/half')).body['source']).toBe('rest');
  });

  it('B5 a new definition is registered from the page, and removed again', async () => {
    await tab.page.getByRole('link', { name: 'New definition' }).click();
    await tab.page.getByLabel('Name').fill('greeter');
    await tab.page.getByLabel('Description').fill('Greets visitors.');
    await text('What it would use').waitFor();
    await tab.page.getByText('20 replies of the model').waitFor();
    await expectGoodLooks('new-definition');
    await button('Register…').click();
    await dialog().getByRole('button', { name: 'Register the definition' }).click();
    await button('Remove…').click();
    await dialog().getByRole('button', { name: 'Remove the definition' }).click();
    await tab.page.getByRole('link', { name: 'New definition' }).waitFor();
    expect((await api.call('GET', '/v1/definitions/greeter')).status).toBe(404);
  });
});

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
    await text('1 of 3 answered').first().waitFor();
    await tab.page.getByRole('region', { name: 'At work' }).getByText('Rebuild the search index.').waitFor();
    await tab.page.getByRole('region', { name: 'Awarded' }).getByText('to confirm', { exact: true }).first().waitFor();
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
    await text('2 of 3 answered').first().waitFor();
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

describe('history (B3)', () => {
  it('B3 shows events with filters in the address, and the facts of each; the newest appear without a reload', async () => {
    await tab.go('#/history');
    await text('Definition registered').first().waitFor();
    await api.given.agent({ agentId: 'tester-17', capabilities: ['test'] });
    await text('tester-17').first().waitFor();
    await expectGoodLooks('history');
    await button('definitions').click();
    await text('Contract announced').first().waitFor({ state: 'detached' });
    expect(tab.page.url()).toContain('kind=definition');
    await button('all').click();
    await tab.page.getByLabel('Only events about this agent').fill('tester-17');
    await text('Definition registered').first().waitFor({ state: 'detached' });
    await text('Agent joined').click();
    await tab.page.getByRole('link', { name: 'open the agent' }).waitFor();
    await tab.page.getByLabel('Only events about this agent').fill('');
  });

  it('B3 the time slider goes back to any time with the keyboard alone, and to now again', async () => {
    const slider = tab.page.getByLabel('Show events until');
    await text('Agent joined').first().waitFor();
    await slider.focus();
    await tab.page.keyboard.press('Home');
    await tab.page.keyboard.press('ArrowRight');
    await text('tester-17').first().waitFor({ state: 'detached' });
    await text('Definition registered').first().waitFor();
    const before = Number(/before=(\d+)/.exec(tab.page.url())?.[1]);
    const { body } = await api.call<{ items: { sequence: string }[] }>('GET', `/v1/events?before=${before}&limit=1`);
    expect(Number(body.items[0]?.sequence)).toBe(before - 1);
    expect(before).toBeLessThan(20);
    await expectGoodLooks('history-earlier');
    await slider.focus();
    await tab.page.keyboard.press('End');
    await text('tester-17').first().waitFor();
    expect(tab.page.url()).not.toContain('before=');
  });

  it('S-4 the audit log shows who did what, with filters', async () => {
    await tab.page.getByRole('link', { name: 'Audit log' }).click();
    await text('Definition registered').first().waitFor();
    await tab.page.getByLabel('Only this action').fill('definition.imported');
    await text('Definition registered').first().waitFor({ state: 'detached' });
    await text('Definition imported').first().click();
    await text('"requestId"').first().waitFor();
    await expectGoodLooks('audit');
  });
});

describe('access (S-3)', () => {
  it('S-3 issues, rotates and revokes keys; a secret is shown once', async () => {
    await tab.go('#/access');
    await text('Namespace default').waitFor();
    await button('Issue a key…').click();
    await dialog().getByLabel('What it is for').fill('ci-deployer');
    await dialog().getByLabel('caller').check();
    await tab.shoot('issue-key');
    expect(await tab.accessibilityFaults()).toEqual([]);
    await dialog().getByRole('button', { name: 'Issue the key' }).click();
    await text('The key ci-deployer.').waitFor();
    const secret = await tab.page.locator('.secret code').innerText();
    const me = await api.call<{ roles: string[]; id: string }>('GET', '/v1/me', { key: secret });
    expect(me.body.roles.toSorted()).toEqual(['caller', 'viewer']);
    await button('Done').click();
    expect(await tab.page.locator('main').innerText()).not.toContain(secret);
    const row = tab.page.getByRole('row', { name: /ci-deployer/ });
    await row.getByRole('button', { name: 'Rotate…' }).click();
    await dialog().getByRole('button', { name: 'Rotate' }).click();
    await text('The key ci-deployer.').waitFor();
    await button('Done').click();
    await row.nth(1).waitFor();
    await row.getByRole('button', { name: 'Revoke…' }).last().focus();
    await tab.page.keyboard.press('Enter');
    await dialog().getByRole('button', { name: 'Revoke' }).focus();
    await tab.page.keyboard.press('Enter');
    await row.getByText('revoked').waitFor();
    const ended = await Promise.all([secret].map(async (key) => (await api.call('GET', '/v1/me', { key })).status));
    expect(ended).toEqual([401]);
  });

  it('B3 a webhook shows its lag and its failures; parked events are replayed', async () => {
    const receiver = await WebhookReceiver.start();
    await button('Create a webhook…').click();
    await dialog().getByLabel('Address').fill(receiver.url);
    await dialog().getByLabel('What it is for').fill('deployment board');
    await dialog()
      .getByLabel(/^Only these types/)
      .fill('agent.*');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await text('The secret that signs its deliveries.').waitFor();
    await button('Done').click();
    await text('only agent.*').waitFor();
    await button('Pause…').click();
    await dialog().getByRole('button', { name: 'Pause' }).click();
    await button('Resume…').waitFor();
    await api.given.agent({ agentId: 'late-1' });
    await text(/\d events? behind/).waitFor();
    await expectGoodLooks('access');
    await button('Resume…').click();
    await dialog().getByRole('button', { name: 'Resume' }).click();
    await until('the event is delivered', () => receiver.subjects.includes('late-1'));
    await text(/up to date/).waitFor();
    await button('Deliveries of deployment board').click();
    await text('delivered').first().waitFor();
    await button('Send again…').first().click();
    await dialog().getByRole('button', { name: 'Send again' }).click();
    await until('it is delivered again', () => receiver.subjects.filter((subject) => subject === 'late-1').length > 1);
    await expectGoodLooks('deliveries');
    await button('Replay…').click();
    await dialog()
      .getByLabel(/^After this sequence/)
      .fill('1');
    await dialog().getByRole('button', { name: 'Replay' }).click();
    await until('earlier events are delivered', () => receiver.subjects.includes('tester-17'));
    await button('Delete…').first().click();
    await dialog().getByRole('button', { name: 'Delete the webhook' }).click();
    await text('No sink receives events.').waitFor();
    await receiver.stop();
  });

  it('S-5 namespaces are created, limited and deleted', async () => {
    await button('Create a namespace…').click();
    await dialog()
      .getByLabel(/^Name:/)
      .fill('team-a');
    await dialog().getByRole('button', { name: 'Create' }).click();
    const row = tab.page.getByRole('row', { name: /^team-a/ });
    await row.getByRole('button', { name: 'Limits…' }).click();
    await dialog().getByLabel('Live agents').fill('25');
    await dialog().getByRole('button', { name: 'Change the limits' }).click();
    await row.getByText('25').waitFor();
    await row.getByRole('button', { name: 'Delete…' }).click();
    await dialog().getByRole('button', { name: 'Delete the namespace' }).click();
    await row.waitFor({ state: 'detached' });
  });
});
