import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { Database } from '#rollcall/platform';
import { startPostgres } from './support/postgres.js';
import { fillFleet } from './support/query.fleet.js';
import { LONG_TIMEOUTS, type Server, startRollcall } from './support/servers.js';
import { TargetTable } from './support/target.js';
import { appendEvenly, writingReplica } from './support/writers.js';

/**
 * Opens the web console on a large installation in a real browser, while events arrive: the time until the first content of a screen, and the
 * longest task of its page. `npm run bench:console -- [agents, 100000] [steps of a run, 10000] [events per second, 200] [seconds, 8]`
 */
const [agents = 100_000, steps = 10_000, perSecond = 200, seconds = 8] = process.argv.slice(2).map(Number);
/** A longer task is felt as a stutter. */
const LONGEST_TASK_MS = 200;
const RUN = 'bench-run';
const SCROLLS = 20;

interface Screen {
  readonly name: string;
  readonly fragment: string;
  /** Its first content: what people came to see. */
  readonly content: string;
  /** What is scrolled. */
  readonly region?: string;
  /** How many rows it has in the end, so that all of them were read. */
  readonly rows?: number;
}

const SCREENS: readonly Screen[] = [
  { name: 'overview', fragment: '#/', content: '.stat strong' },
  { name: 'fleet', fragment: '#/fleet', content: '.agent-rows td a', region: '.agent-rows' },
  { name: 'who', fragment: '#/who', content: '.who tbody td a' },
  { name: 'budgets', fragment: '#/budgets', content: '.tree td a' },
  {
    name: 'run',
    fragment: `#/runs/${RUN}`,
    content: '.timeline .wf:nth-child(10)',
    region: '.timeline',
    rows: 2 + Math.floor(steps / 2),
  },
];

interface Measured {
  readonly contentMs: number;
  readonly longestMs: number;
  readonly longTasks: number;
}

/** A finished run of calls of a model and a tool, written directly into the tables. */
async function fillRun(url: string): Promise<void> {
  const db = new Database({ url, poolSize: 1, operationTimeoutMs: 120_000 });
  await db.query(
    `INSERT INTO run (id, namespace, root_id, state, target, agent_id, definition, revision, input, created_by, conversation_id,
       started_at, finished_at, result)
     SELECT $1, 'default', $1, 'completed', '{}', 'clerk', 'clerk', 1, '[{"type":"text","text":"Work."}]', 'bench', $1,
       clock_timestamp() - interval '1 hour', clock_timestamp(), '{"parts":[]}'`,
    [RUN],
  );
  await db.query(
    `INSERT INTO run_step (run_id, seq, at, step)
     SELECT $1, g, clock_timestamp() - interval '1 hour' + g * interval '3600 seconds' / $2::int,
       CASE WHEN g = 1 THEN '{"type":"message","parts":[{"type":"text","text":"Work."}]}'::json
         WHEN g % 2 = 0 THEN json_build_object('type', 'tool-called', 'turn', g / 2, 'idempotent', true,
           'call', json_build_object('type', 'tool-call', 'id', 'call-' || g / 2, 'name', 'search', 'input', json_build_object('page', g)))
         ELSE json_build_object('type', 'tool-finished', 'turn', g / 2, 'callId', 'call-' || g / 2, 'name', 'search',
           'output', repeat('result ', 20)) END
     FROM generate_series(1, $2::int) g`,
    [RUN, steps],
  );
  await db.close();
}

/** Runs in the page before its scripts: notes when the content appears, and every long task. */
function watcher({ token, content }: { token: string; content: string }): void {
  const page = globalThis as unknown as { measured: { contentMs: number; tasks: number[] } } & Record<string, never>;
  page.measured = { contentMs: 0, tasks: [] };
  const {
    sessionStorage,
    document,
    PerformanceObserver: Observer,
  } = page as unknown as {
    sessionStorage: { setItem(key: string, value: string): void };
    document: { querySelector(selector: string): unknown };
    PerformanceObserver: new (callback: (list: { getEntries(): { duration: number }[] }) => void) => {
      observe(options: object): void;
    };
  };
  sessionStorage.setItem('rollcall.session', token);
  new Observer((list) => page.measured.tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
    type: 'longtask',
    buffered: true,
  });
  const timer = setInterval(() => {
    if (!document.querySelector(content)) return;
    page.measured.contentMs = performance.now();
    clearInterval(timer);
  }, 4);
}

async function measure(browser: Browser, { url }: Server, token: string, screen: Screen): Promise<Measured> {
  const { fragment, content, region } = screen;
  const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(watcher, { token, content });
  await page.goto(`${url}/console/${fragment}`);
  await page.locator(content).first().waitFor({ timeout: 60_000 });
  const until = performance.now() + seconds * 1_000;
  for (let turn = 0; performance.now() < until; turn += 1) {
    if (region !== undefined && turn < SCROLLS) {
      await page.hover(region);
      await page.mouse.wheel(0, 2_000);
    }
    await delay(200);
  }
  if (screen.rows !== undefined) await page.getByText(`${screen.rows.toLocaleString('en')} rows`).waitFor();
  const { contentMs, tasks } = await page.evaluate<{ contentMs: number; tasks: number[] }>('measured');
  await context.close();
  return { contentMs, longestMs: Math.max(0, ...tasks), longTasks: tasks.length };
}

async function sessionOf({ url, headers }: Server): Promise<string> {
  const response = await fetch(`${url}/v1/sessions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: '{}',
  });
  if (!response.ok) throw new Error(`no session: ${await response.text()}`);
  return ((await response.json()) as { token: string }).token;
}

/** The build does not contain the tests; Node executes this file without a build. */
const BROWSER = new URL('../../test/support/browser.ts', import.meta.url).href;
const { openBrowser } = (await import(BROWSER)) as typeof import('../test/support/browser.js');

const postgres = await startPostgres();
await fillFleet(postgres.url, agents);
await fillRun(postgres.url);
const server = await startRollcall({
  DATABASE_URL: postgres.url,
  ...LONG_TIMEOUTS,
  ROLLCALL_ADMIN_KEY: 'x'.repeat(43),
});
const browser = await openBrowser();
const db = new Database({ url: postgres.url, poolSize: 4, operationTimeoutMs: 30_000 });
try {
  const token = await sessionOf(server);
  const events = await writingReplica(db);
  const targets = new TargetTable();
  console.log(
    `${agents} agents, a run of ${steps} steps, ${perSecond} events per second, ${seconds} s for each screen`,
  );
  for (const screen of SCREENS) {
    const [{ contentMs, longestMs, longTasks }] = await Promise.all([
      measure(browser, server, token, screen),
      appendEvenly(db, events, perSecond, perSecond * seconds),
    ]);
    const first = `first content after ${contentMs.toFixed(0)} ms`;
    console.log(
      `  ${screen.name.padEnd(10)} ${first}, ${longTasks} tasks over 50 ms, the longest ${longestMs.toFixed(0)} ms`,
    );
    targets.atMost(`${screen.name}: longest task`, LONGEST_TASK_MS, longestMs, ' ms');
  }
  targets.print();
} finally {
  await db.close();
  await browser.close();
  await server.stop();
  await postgres.stop();
}
