import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { RoundRobin } from '#rollcall/test-support';
import { startApi, type TestApi } from '../support/api.js';
import { installFixtures } from '../support/mcp-fixtures.js';

/** Installed with `npm ci --prefix bench/peers`. */
const SUITE = resolve(
  import.meta.dirname,
  '../../bench/peers/node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
/** The suite needs Node 22 or later. */
const NODE = resolve(import.meta.dirname, '../../node_modules/.bin/node');
const LIMIT_MS = 600_000;

let api: TestApi;
let other: TestApi;
let proxy: RoundRobin;
beforeAll(async () => {
  api = await startApi();
  other = await api.replica();
  for (const replica of [api, other]) await installFixtures(replica);
  proxy = await RoundRobin.start();
  proxy.targets = [api.url, other.url];
  proxy.headers = { authorization: `Bearer ${await api.given.key('operator')}` };
});
afterAll(async () => {
  await proxy.stop();
  await other.stop();
  await api.stop();
});

/** Returns the output and the exit code of the suite. */
async function conformance(...flags: string[]): Promise<{ code: number | null; output: string }> {
  if (!existsSync(SUITE)) throw new Error('The suite is not installed. Run: npm ci --prefix bench/peers');
  const child = spawn(NODE, [SUITE, 'server', '--url', `${proxy.url}/mcp`, ...flags]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const code = await new Promise<number | null>((done) => child.once('close', done));
  return { code, output };
}

describe('the public conformance suite of MCP, against two replicas', () => {
  it(
    'S3.12 reports no failure of a required check of 2026-07-28',
    async () => {
      const { code, output } = await conformance('--requirements', '2026-07-28');
      expect(code === 0 ? 'passed' : output).toBe('passed');
    },
    LIMIT_MS,
  );
});
