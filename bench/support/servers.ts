import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { DEFAULT_RESERVED_POOL_SIZE } from '#rollcall/platform';
import type { ConstantChanges } from '../../apps/api/src/config/config.constants.js';

export interface Server {
  pid: number;
  url: string;
  headers: Record<string, string>;
  /** Ends the process: without a signal as a deployment does, with `SIGKILL` at once. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The V8 flags of `npm start` and the Dockerfile, for Rollcall and for its peers. */
export const V8_FLAGS = ['--max-semi-space-size=64'];
/** Connections to Postgres, for Rollcall (in two pools) and for its peers (in one). */
const POOL_SIZE = 20;
/** For comparisons: no lease ends during a run, and on a busy machine a response is late instead of 503. */
export const LONG_TIMEOUTS = { ROLLCALL_HEARTBEAT_EVERY: '1h', ROLLCALL_DATABASE_TIMEOUT: '10s' };

const DIST = fileURLToPath(new URL('../../', import.meta.url));

export async function startBare(): Promise<Server> {
  return await startSupport('bare.server', {});
}

/** Writes each heartbeat with one prepared UPDATE. */
export async function startNaive(databaseUrl: string): Promise<Server> {
  return await startSupport('naive.server', { DATABASE_URL: databaseUrl });
}

/** Answers queries by SQL. */
export async function startSqlQuery(databaseUrl: string): Promise<Server> {
  return await startSupport('sql-query.server', { DATABASE_URL: databaseUrl });
}

async function startSupport(name: string, environment: Record<string, string>): Promise<Server> {
  const peerEnvironment = { PEER_POOL_SIZE: String(POOL_SIZE + DEFAULT_RESERVED_POOL_SIZE), ...environment };
  const child = spawnNode([join(DIST, `bench/support/${name}.js`)], peerEnvironment);
  const { url } = await startedLine(child);
  return { pid: child.pid ?? 0, url, headers: {}, stop: async () => await end(child) };
}

/** The settings with which an older commit, in another folder, has the same limits. */
const OLDER_SETTINGS = { ROLLCALL_RUNS_MAX_PER_AGENT: '10000' };

/** The application with its defaults, except for the limits per caller: one client produces the whole load. */
export async function startRollcall(
  environment: Record<string, string> = {},
  { dist = DIST, constants }: { dist?: string; constants?: ConstantChanges } = {},
): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const program = constants
    ? [join(DIST, '../test/support/replica.js'), JSON.stringify(constants)]
    : [join(dist, 'apps/api/src/main.js')];
  const child = spawnNode(program, {
    PORT: '0',
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_RATE_LIMIT: '1000000',
    ROLLCALL_PUBLIC_RATE_LIMIT: '1000000',
    ROLLCALL_CONCURRENT_REQUESTS: '100000',
    ROLLCALL_CONCURRENT_STREAMS: '100000',
    ROLLCALL_QUOTAS: 'agents=1000000,kilobytesPerMinute=0,kilobytesPerMinuteOfNamespace=0',
    ...(dist !== DIST && OLDER_SETTINGS),
    ROLLCALL_DATABASE_POOL_SIZE: String(POOL_SIZE),
    LOG_FORMAT: 'json',
    ...environment,
  });
  const { url, adminKeyFile = '' } = await startedLine(child);
  const key = environment['ROLLCALL_ADMIN_KEY'] ?? readFileSync(adminKeyFile, 'utf8').trim();
  const stop = async (signal?: NodeJS.Signals): Promise<void> => {
    await end(child, signal);
    rmSync(folder, { recursive: true, force: true });
  };
  return { pid: child.pid ?? 0, url, headers: { authorization: `Bearer ${key}` }, stop };
}

function spawnNode(program: string[], environment: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [...V8_FLAGS, ...program], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

interface StartedLine {
  url: string;
  adminKeyFile?: string;
}

async function startedLine(child: ChildProcess): Promise<StartedLine> {
  if (!child.stdout) throw new Error('the server has no standard output to read from');
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"event":"process.started"')) {
      child.stdout.resume();
      return JSON.parse(line) as StartedLine;
    }
  }
  throw new Error('the server ended before it was ready');
}

async function end(child: ChildProcess, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  const exit = once(child, 'exit');
  child.kill(signal);
  await exit;
}
