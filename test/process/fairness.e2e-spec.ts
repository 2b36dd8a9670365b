import { rmSync } from 'node:fs';
import { Client } from 'pg';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { call } from '../support/call.js';
import { Given } from '../support/given.js';
import { newFolder, RollcallProcess } from '../support/process.js';
import { rawHttp } from '../support/raw-http.js';

const ADMIN_KEY = 'k'.repeat(40);
const EVENTS = 5_000;
const CALLERS = 10;
const PAGES_PER_CALLER = 50;
const PAGES = CALLERS * PAGES_PER_CALLER;

let folder: string;
let url: string;
let rollcall: RollcallProcess;

beforeAll(async () => {
  folder = newFolder();
  url = await emptyDatabase();
  const environment = { DATABASE_URL: url, ROLLCALL_DATA_DIR: folder, ROLLCALL_ADMIN_KEY: ADMIN_KEY };
  rollcall = await new RollcallProcess(environment).ready();
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`
    INSERT INTO event_log (seq, id, type, subject, capabilities, data, at)
    SELECT n, gen_random_uuid(), 'agent.draining', 'agent-' || n, '{build}', jsonb_build_object('by', repeat('x', 400)), now()
    FROM generate_series(1, ${EVENTS}) n;
    UPDATE event_counter SET head = ${EVENTS}`);
  await client.end();
});
afterAll(async () => {
  await rollcall.end();
  rmSync(folder, { recursive: true, force: true });
  await dropDatabase(url);
});

const newKey = async (): Promise<string> => await Given.at(rollcall.url, ADMIN_KEY).key('viewer');

async function readPage(key: string): Promise<string> {
  const head = `Host: here\r\nConnection: close\r\nAuthorization: Bearer ${key}`;
  const answer = await rawHttp(rollcall.url, `GET /v1/events?after=0&limit=1000 HTTP/1.1\r\n${head}\r\n\r\n`);
  return answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length);
}

it(`A8 while ${PAGES} pages of events are requested at the same time, no liveness check waits until half of them are read`, async () => {
  const keys = await Promise.all(Array.from({ length: CALLERS }, newKey));
  const callers = keys.flatMap((key) => Array.from({ length: PAGES_PER_CALLER }, () => key));
  const statuses: string[] = [];
  const pagesRead = (): number => statuses.filter((status) => status === '200').length; // rejected requests read no page
  const pages = Promise.all(callers.map(async (key) => statuses.push(await readPage(key))));
  const duringOneCheck: number[] = [];
  while (statuses.length < PAGES) {
    const before = pagesRead();
    expect((await call(rollcall.url, 'GET', '/health/live', {})).status).toBe(200);
    duringOneCheck.push(pagesRead() - before);
  }
  await pages;
  expect(statuses.filter((status) => status !== '200' && status !== '429')).toEqual([]);
  expect(pagesRead()).toBeGreaterThan(CALLERS);
  expect(Math.max(...duringOneCheck)).toBeLessThan(pagesRead() / 2);
});
