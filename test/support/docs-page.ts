import type { Page, Request } from 'playwright-core';
import type { Operation } from './openapi.js';

export interface SentRequest {
  method: string;
  path: string;
  query: string[];
  body?: unknown;
}

/** Runs in the browser, where clicks are much faster than one by one from outside. */
const CLICK_THROUGH = `async (id) => {
  const block = document.getElementById(id);
  if (!block) throw new Error('the page has no ' + id);
  const find = async (selector) => {
    for (let tries = 0; tries < 2000; tries++) {
      const found = block.querySelector(selector);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(id + ' has no ' + selector + '; invalid fields: ' + block.querySelectorAll('.invalid').length);
  };
  const toggle = '.opblock-summary-control';
  (await find(toggle)).click();
  (await find('.try-out__btn')).click();
  (await find('.execute')).click();
  await find('.live-responses-table');
  (await find(toggle)).click();
}`;

/** The page at /docs in a browser. Requests to the API are recorded and answered here, without the server. */
export class DocsPage {
  private readonly requests: Request[] = [];

  constructor(
    private readonly page: Page,
    private readonly url: string,
  ) {}

  async open(): Promise<void> {
    await this.page.goto(`${this.url}/docs`);
    await this.page.locator('.opblock').first().waitFor();
    await this.page.route('**/*', async (route) => {
      this.requests.push(route.request());
      await route.fulfill({ status: 200, contentType: 'application/json', body: '{}' });
    });
  }

  /** Opens the operation, and executes it without changing anything. Returns the request that the page sends. */
  async execute({ tags = [], operationId }: Operation): Promise<SentRequest> {
    const before = this.requests.length;
    const id = `operations-${tags[0] ?? ''}-${operationId}`.replaceAll('.', String.raw`\.`); // the page escapes its ids
    await this.page.evaluate(`(${CLICK_THROUGH})(${JSON.stringify(id)})`);
    const request = this.requests[before];
    if (!request) throw new Error(`${operationId}: the page sent no request`);
    const { pathname, searchParams } = new URL(request.url());
    const text = request.postData();
    return {
      method: request.method(),
      path: decodeURIComponent(pathname),
      query: [...searchParams].map(([name, value]) => `${name}=${value}`).toSorted(),
      body: text === null ? undefined : (JSON.parse(text) as unknown),
    };
  }
}
