import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dropDatabase, emptyDatabase } from '#rollcall/platform/testing';
import { createRollcall, definePlugin, type EmbeddedRollcall } from '../../apps/api/src/package/embed.js';
import { defineTool } from '../../apps/api/src/package/plugin.js';
import { type Answer, call } from '../support/call.js';

const KEY = 'k'.repeat(40);
const clock = definePlugin({
  name: 'worker',
  tools: [defineTool({ name: 'whoami', description: 'Names the worker.', idempotent: true, execute: () => 'worker' })],
  definitions: [{ name: 'clerk', description: 'Works.', tools: ['whoami'] }],
});

let url: string;
let folder: string;
const started: EmbeddedRollcall[] = [];

/** Rollcall in this process, with its own part of the settings. */
async function embed(settings: Record<string, string>, options: object = {}): Promise<EmbeddedRollcall> {
  const own = { DATABASE_URL: url, ROLLCALL_ADMIN_KEY: KEY, LOG_LEVEL: 'error', LOG_FORMAT: 'json', ...settings };
  const rollcall = await createRollcall({ folder, settings: own, ...options });
  started.push(rollcall);
  return rollcall;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rollcall-embedding-'));
  url = await emptyDatabase();
});
afterAll(async () => {
  await Promise.all(started.map(async (one) => await one.stop()));
  await dropDatabase(url);
  rmSync(folder, { recursive: true, force: true });
});

describe('Rollcall in another application', () => {
  it('M-4 can be only the registry, or only the runtime: one process has all routes and executes no run, another has no routes', async () => {
    const registry = await embed({ ROLLCALL_RUNS_MAX: '0' }, { plugins: [clock] });
    const at = await registry.listen(0);
    const send = async (path: string, body?: unknown): Promise<Answer> =>
      await call(at, body === undefined ? 'GET' : 'POST', path, { key: KEY, ...(body !== undefined && { body }) });
    const { body: run } = await send('/v1/runs?waitMs=500', { definition: 'clerk', input: 'Call whoami {}' });
    expect(run).toMatchObject({ state: 'queued' });
    await embed({}, { plugins: [clock] });
    const { body: finished } = await send(`/v1/runs/${String(run['id'])}?waitMs=45000`);
    expect(finished).toMatchObject({ state: 'completed', result: { parts: [{ text: 'worker' }] } });
  });
});
