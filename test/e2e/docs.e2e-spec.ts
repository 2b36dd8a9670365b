import type { Browser } from 'playwright-core';
import { PROBLEMS } from '../../apps/api/src/http/problems/problem.table.js';
import { startApi, type TestApi } from '../support/api.js';
import { openBrowser } from '../support/browser.js';
import { DocsPage, type SentRequest } from '../support/docs-page.js';
import { documentOf, type OpenApiDocument, type Operation, operationsOf, prefilled } from '../support/openapi.js';

let api: TestApi;
let browser: Browser;
let document: OpenApiDocument;

beforeAll(async () => {
  api = await startApi({ ROLLCALL_CONSOLE: 'off' });
  browser = await openBrowser();
  document = await documentOf(api);
});
afterAll(async () => {
  await browser.close();
  await api.stop();
});

/** Health checks, and the exchange of a ticket, which is a credential. */
const NO_CREDENTIAL = /^GET \/health|^POST \/v1\/sessions\/tickets\/exchange$/;

const operations = (): [string, Operation][] =>
  operationsOf(document).map((operation) => [`${operation.method} ${operation.path}`, operation]);

describe('the OpenAPI document', () => {
  it('contains every route except the routes of other protocols, with a summary and a success response', () => {
    const served = api.app.routes
      .all()
      .filter(
        (route) =>
          !/^HEAD |\/docs|\/console|\/openapi|\/asyncapi|\/ws$|^\w+ \/(a2a\b|mcp\b|ard\b|v0\.1\/|\.well-known\/)/.test(
            route,
          ),
      )
      .map((route) => route.replaceAll(/:(\w+)/g, '{$1}'));
    expect(
      operations()
        .map(([route]) => route)
        .toSorted(),
    ).toEqual(served.toSorted());
    for (const [route, operation] of operations()) {
      expect({ route, summary: operation.summary ?? '' }).not.toEqual({ route, summary: '' });
      expect(Object.keys(operation.responses).some((status) => status.startsWith('2'))).toBe(true);
    }
  });

  it('declares which routes require a credential', () => {
    expect(document.components.securitySchemes).toMatchObject({ bearer: { type: 'http', scheme: 'bearer' } });
    for (const [route, { security }] of operations()) {
      expect({ route, open: security === undefined }).toEqual({ route, open: NO_CREDENTIAL.test(route) });
    }
  });

  it('gives every field of a request body a description or an example', () => {
    const bodies = operations().flatMap(([, { requestBody }]) => Object.values(requestBody?.content ?? {}));
    expect(bodies.length).toBeGreaterThan(0);
    for (const { schema } of bodies) {
      const { properties = {} } = document.components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? {};
      for (const [field, facts] of Object.entries(properties)) {
        expect({ field, documented: 'description' in facts || 'example' in facts }).toEqual({
          field,
          documented: true,
        });
      }
    }
  });

  it('lists every error code', () => {
    expect(document.components.schemas['Problem']?.properties?.['code']?.enum).toEqual(Object.keys(PROBLEMS));
  });
});

/**
 * The operations to click, by section. An operation takes about a second of CPU time in the browser, so the test clicks only the
 * operation with the most fields of each section. `npm run docs:click` clicks all operations.
 */
function sectionsOf(of: OpenApiDocument): [string, Operation[]][] {
  const fields = ({ parameters, requestBody }: Operation): number => parameters.length + (requestBody ? 10 : 0);
  const sections = [...Map.groupBy(operationsOf(of), ({ tags = [] }) => tags[0] ?? '')];
  if (process.env['DOCS_CLICK'] === 'all') return sections;
  return sections.map(([tag, all]) => [tag, all.toSorted((a, b) => fields(b) - fields(a)).slice(0, 1)]);
}

/** The request that the test of the examples (openapi-examples) sends successfully. */
function expectedRequest(operation: Operation): SentRequest {
  const { path, body } = prefilled(document.components, operation);
  const { pathname, searchParams } = new URL(path, api.url);
  const query = [...searchParams].map(([name, value]) => `${name}=${value}`).toSorted();
  return { method: operation.method, path: decodeURIComponent(pathname), query, body };
}

describe('the documentation page', () => {
  it('shows the routes in a real browser under a strict content security policy, and can call a route with a key', async () => {
    const page = await browser.newPage();
    const browserErrors: string[] = [];
    page.on('console', (message) => message.type() === 'error' && browserErrors.push(message.text()));
    page.on('pageerror', (error) => browserErrors.push(error.message));
    await page.goto(`${api.url}/docs`);
    await page.getByText('/v1/me').first().waitFor();
    expect(await page.title()).toBe('Rollcall API');
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.locator('#auth-bearer-value').fill(api.adminKey);
    await page.locator('.auth-btn-wrapper button', { hasText: 'Authorize' }).click();
    await page.locator('.btn-done').click();
    await page.getByText('/v1/me').first().click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table', { hasText: '"kind": "key"' }).waitFor();
    expect(browserErrors).toEqual([]);
  });

  it('N-7 the page has its own links and a filter box, and shows the example of each error', async () => {
    const page = await browser.newPage();
    await page.goto(`${api.url}/docs`);
    await page.getByRole('link', { name: 'WebSockets and streams as AsyncAPI' }).waitFor();
    expect(await page.locator('.topbar').isVisible()).toBe(false);
    await page.locator('.operation-filter-input').fill('webhooks');
    await page.getByText('/v1/agents/query').waitFor({ state: 'detached' });
    await page.locator('.operation-filter-input').fill('budgets');
    await page.locator('.opblock-summary', { hasText: 'Get a budget' }).locator('.opblock-summary-control').click();
    await page.getByText('urn:rollcall:problem:budget-not-found').first().waitFor();
  });

  it('opens at the root of a server without the console (N9)', async () => {
    const page = await browser.newPage();
    await page.goto(api.url);
    expect(page.url()).toBe(`${api.url}/docs`);
  });

  it('N9 pre-fills the request that the test of the examples sends successfully', async () => {
    const page = new DocsPage(await browser.newPage(), api.url);
    await page.open();
    for (const [tag, chosen] of sectionsOf(document))
      expect({ tag, sent: await page.execute(tag, chosen) }).toEqual({ tag, sent: chosen.map(expectedRequest) });
  }, 1_800_000);

  it('registers an agent with the request that it pre-fills', async () => {
    const page = await browser.newPage();
    await page.goto(`${api.url}/docs`);
    await page.getByRole('button', { name: 'Authorize' }).first().click();
    await page.locator('#auth-bearer-value').fill(api.adminKey);
    await page.locator('.auth-btn-wrapper button', { hasText: 'Authorize' }).click();
    await page.locator('.btn-done').click();
    await page.getByText('Register an agent').first().click();
    await page.getByRole('button', { name: 'Try it out' }).click();
    await page.getByRole('button', { name: 'Execute' }).click();
    await page.locator('.live-responses-table', { hasText: '"agentId": "builder-01"' }).waitFor();
    expect((await api.call('GET', '/v1/agents/builder-01')).body).toMatchObject({ status: 'active', generation: 1 });
  });
});
