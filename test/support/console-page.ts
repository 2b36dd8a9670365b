import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page, Request } from 'playwright-core';
import { until } from '#rollcall/test-support';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

export type Theme = 'light' | 'dark';

export const THEMES: readonly Theme[] = ['light', 'dark'];
const [WIDE, NARROW] = [1440, 360];
/** `npm run screenshots` sets the folder. */
const SHOTS = process.env['CONSOLE_SCREENSHOTS'];

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
}

/** A tab with the web console. It records everything that the page must not do. */
export class ConsolePage {
  /** Violations of the policy, errors in the console of the browser, and requests to other origins. */
  readonly faults: string[] = [];
  /** The addresses and headers of all requests. */
  readonly requests: string[] = [];
  /** Requests without a complete response. A stream of a run has none until the run ends. */
  private readonly open = new Set<Request>();

  private constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    private readonly origin: string,
  ) {}

  /** `base` is the address of the server, with the path that a proxy adds. */
  static async open(browser: Browser, base: string, { width = WIDE, fragment = '' } = {}): Promise<ConsolePage> {
    const context = await browser.newContext({ locale: 'en-US', viewport: { width, height: 900 } });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const tab = new ConsolePage(page, context, new URL(base).origin);
    tab.watch();
    await page.goto(`${base}/console/${fragment}`);
    return tab;
  }

  async signIn(key: string): Promise<void> {
    await this.page.getByLabel('API key').fill(key);
    await this.page.getByRole('button', { name: 'Sign in' }).click();
    await this.page.getByRole('navigation', { name: 'Screens' }).waitFor({ state: 'attached' });
  }

  /** Opens a screen, such as `#/fleet`, without loading the page again. */
  async go(fragment: string): Promise<void> {
    await this.page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
  }

  /** Waits until the page has read and rendered everything that it shows. */
  async settled(): Promise<void> {
    await until('the page has loaded', async () => {
      if (this.open.size > 0) return false;
      await this.page.evaluate('new Promise((resolve) => requestIdleCallback(resolve, { timeout: 1000 }))');
      return this.open.size === 0;
    });
  }

  async theme(colorScheme: Theme): Promise<void> {
    await this.page.emulateMedia({ colorScheme });
  }

  /** The violations of the accessibility rules of axe-core, in this theme. */
  async violations(theme: Theme): Promise<string[]> {
    await this.theme(theme);
    await this.page.evaluate(AXE);
    const { violations } = await this.page.evaluate(
      async () => await (globalThis as unknown as { axe: { run(): Promise<AxeResult> } }).axe.run(),
    );
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${theme} ${id}: ${html} ${failureSummary}`),
    );
  }

  /** The violations of the accessibility rules in both themes. */
  async accessibilityFaults(): Promise<string[]> {
    const found: string[] = [];
    for (const theme of THEMES) found.push(...(await this.violations(theme)));
    return found;
  }

  /** How many pixels of the page do not fit a narrow window. */
  async overflow(): Promise<number> {
    await this.page.setViewportSize({ width: NARROW, height: 900 });
    const pixels = await this.page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    await this.page.setViewportSize({ width: WIDE, height: 900 });
    return pixels;
  }

  /** With `npm run screenshots`: takes pictures of the screen in both themes, wide and narrow. */
  async shoot(name: string): Promise<void> {
    if (SHOTS === undefined) return;
    mkdirSync(SHOTS, { recursive: true });
    for (const width of [NARROW, WIDE]) {
      await this.page.setViewportSize({ width, height: 900 });
      for (const theme of THEMES) {
        await this.theme(theme);
        await this.page.screenshot({ path: join(SHOTS, `${name}-${theme}-${width}.png`), fullPage: true });
      }
    }
  }

  async close(): Promise<void> {
    await this.context.close();
  }

  private watch(): void {
    const { page, faults, requests } = this;
    page.on('pageerror', (error) => faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // the browser reports each rejected request; the page shows it to the user
      if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
        faults.push(`console: ${message.text()}`);
    });
    const close = (request: Request): boolean => this.open.delete(request);
    page.on('requestfinished', close).on('requestfailed', close);
    page.on('request', (request) => {
      if (!request.url().includes('/stream')) this.open.add(request);
      requests.push(`${request.url()} ${JSON.stringify(request.headers())}`);
      const { origin, protocol } = new URL(request.url());
      if (origin !== this.origin && protocol !== 'data:' && protocol !== 'blob:')
        faults.push(`request: ${request.url()}`);
    });
  }
}
