import type { Page, Request } from 'playwright-core';
import type { Operation } from './openapi.js';

export interface SentRequest {
  method: string;
  path: string;
  query: string[];
  body?: unknown;
}

/**
 * Runs in the browser, because single clicks from outside are much slower. The page renders all visible operations after each click,
 * so only one section is open, and the list of schemas is closed.
 */
const CLICK_THROUGH = `async ({ tag, ids }) => {
  const within = async (element, selector, text) => {
    for (let tries = 0; tries < 4000; tries++) {
      const found = element && element.querySelector(selector);
      if (found) return found;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(text + ' has no ' + selector);
  };
  const schemas = document.querySelector('.models.is-open .models-control');
  if (schemas) schemas.click();
  for (const header of document.querySelectorAll('.opblock-tag[data-is-open="true"]')) header.click();
  (await within(document, '.opblock-tag[data-tag="' + tag + '"]', 'the page')).click();
  for (const id of ids) {
    const block = await within(document, '#' + CSS.escape(id), 'the page');
    const find = (selector) => within(block, selector, id);
    const toggle = '.opblock-summary-control';
    (await find(toggle)).click();
    (await find('.try-out__btn')).click();
    (await find('.execute')).click();
    await find('.live-responses-table');
    (await find(toggle)).click();
  }
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

  /** Opens each operation of a section and executes it with the pre-filled values. Returns the requests that the page sends. */
  async execute(tag: string, operations: readonly Operation[]): Promise<SentRequest[]> {
    const before = this.requests.length;
    const ids = operations.map(({ operationId }) => `operations-${tag}-${operationId}`.replaceAll('.', String.raw`\.`)); // the page escapes its ids
    await this.page.evaluate(`(${CLICK_THROUGH})(${JSON.stringify({ tag, ids })})`);
    return this.requests.slice(before).map(toSentRequest);
  }
}

function toSentRequest(request: Request): SentRequest {
  const { pathname, searchParams } = new URL(request.url());
  const text = request.postData();
  return {
    method: request.method(),
    path: decodeURIComponent(pathname),
    query: [...searchParams].map(([name, value]) => `${name}=${value}`).toSorted(),
    body: text === null ? undefined : (JSON.parse(text) as unknown),
  };
}
