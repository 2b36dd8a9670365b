import { randomInt } from 'node:crypto';
import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { runFaults } from '#rollcall/agent-runtime/testing';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { BusyLoops, until } from '#rollcall/test-support';
import { call } from '../support/call.js';
import { newFolder, RollcallProcess } from '../support/process.js';

const KEY = 'k'.repeat(40);
const RUNS = 50;
/** The measured run of the requirement has 20 kills. */
const KILLS = Number(process.env['ROLLCALL_TEST_KILLS'] ?? 3);
/** How many processes use a core each during the test. */
const BUSY = Number(process.env['ROLLCALL_TEST_BUSY'] ?? 0);
/**
 * On a busy machine, a living replica could lose a shorter lease and would then abort its model calls. The usage of such a call is
 * unknown and is charged as an estimate, so the exact comparison of replies and charges would fail.
 */
const LEASE_MS = 10_000;
const MODELS = JSON.stringify({ default: 'steps', presets: { steps: { vendor: 'scripted', model: 'steps' } } });
const OPEN = `state IN ('queued', 'running')`;

let folder: string;
let url: string;
let client: Client;
let replicas: RollcallProcess[];
let busy: BusyLoops;

beforeEach(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  replicas = [await start().ready()];
  replicas.push(await start().ready());
  client = new Client({ connectionString: url });
  await client.connect();
  busy = BusyLoops.start(BUSY);
});
afterEach(async () => {
  await busy.stop();
  await client.end();
  await Promise.all(replicas.map(async (one) => await one.end('SIGKILL')));
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

function start(): RollcallProcess {
  const environment = {
    DATABASE_URL: url,
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: KEY,
    ROLLCALL_MODELS: MODELS,
  };
  const runs = { leaseMs: LEASE_MS, maxCrashesInStep: 10, sharePerAgent: 1 }; // the replicas crash without a fault of the runs
  return new RollcallProcess(environment, { constants: { runtime: { runs } } });
}

async function count(from: string): Promise<number> {
  const { rows } = await client.query<{ count: string }>(`SELECT count(*) AS count FROM ${from}`);
  return Number(rows[0]?.count);
}

async function startRun(at: RollcallProcess, steps: number): Promise<void> {
  const body = { definition: 'worker', input: `Read the clock ${steps} times.` };
  const { status } = await call(at.url, 'POST', '/v1/runs', { key: KEY, body });
  expect(status).toBe(202);
}

/** Starts runs until there are `RUNS` unfinished runs. A replica executes the runs that it receives, so both receive some. */
async function fill(): Promise<void> {
  const missing = Math.max(0, RUNS - (await count(`run WHERE ${OPEN}`)));
  const started = Array.from({ length: missing }, async (_, index) => {
    await startRun(replicas[index % replicas.length], randomInt(5, 20));
  });
  await Promise.all(started);
}

describe('replicas that are killed while they execute runs', () => {
  it(
    'B6 B2 every run is completed, no step is missing or repeated, each reply is paid once, and nothing stays reserved',
    async () => {
      const content = { description: 'Works.', instructions: 'Work.', tools: ['clock'] };
      const body = { name: 'worker', content };
      const [first] = replicas;
      expect((await call(first?.url ?? '', 'POST', '/v1/definitions', { key: KEY, body })).status).toBe(201);
      for (let kill = 0; kill < KILLS; kill += 1) {
        const victim = randomInt(2);
        await fill();
        const before = await count('run_step');
        await until('the runs make progress', async () => (await count('run_step')) > before + RUNS, 60_000);
        await replicas[victim]?.end('SIGKILL');
        replicas[victim] = await start().ready();
      }
      await until('every run has ended', async () => (await count(`run WHERE ${OPEN}`)) === 0, 120_000);
      expect(await count(`run WHERE state <> 'completed'`)).toBe(0);
      expect(await count('run')).toBeGreaterThanOrEqual(RUNS);
      expect(await count('run WHERE attempts > 1')).toBeGreaterThan(0);
      await until(
        'nothing is reserved',
        async () => (await count(`budget_reservation WHERE state = 'held'`)) === 0,
        10_000,
      );
      const faults = await runFaults(async (sql) => (await client.query<object>(sql)).rows);
      expect(faults).toEqual({ gaps: [], repeated: [], unequal: [] });
      const reconciliation = await call(replicas[0].url, 'GET', '/v1/budgets/reconciliation', { key: KEY });
      expect(reconciliation.body).toMatchObject({ discrepancies: [] });
    },
    120_000 + KILLS * 60_000,
  );
});
