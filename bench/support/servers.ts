import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export interface Server {
  pid: number;
  url: string;
  headers: Record<string, string>;
  stop(): Promise<void>;
}

/** As `npm start` and the Dockerfile do. */
const HOW_WE_START = ['--max-semi-space-size=64'];
const DIST = fileURLToPath(new URL('../../', import.meta.url));

export async function startBare(): Promise<Server> {
  return await startSupport('bare.server', {});
}

/** One UPDATE for each beat, on the database given. */
export async function startNaive(databaseUrl: string): Promise<Server> {
  return await startSupport('naive.server', { DATABASE_URL: databaseUrl });
}

/** Queries by SQL, on the database given. */
export async function startSqlQuery(databaseUrl: string): Promise<Server> {
  return await startSupport('sql-query.server', { DATABASE_URL: databaseUrl });
}

async function startSupport(name: string, environment: Record<string, string>): Promise<Server> {
  const child = spawnNode(join(DIST, `bench/support/${name}.js`), [], environment);
  const { url } = await startedLine(child);
  return { pid: child.pid ?? 0, url, headers: {}, stop: async () => await end(child) };
}

/** The real application with its real defaults, except for limits per caller that a benchmark is meant to exceed. */
export async function startRollcall(environment: Record<string, string> = {}, dist = DIST): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-bench-'));
  const child = spawnNode(join(dist, 'apps/api/src/main.js'), HOW_WE_START, {
    PORT: '0',
    ROLLCALL_DATA_DIR: folder,
    ROLLCALL_RATE_LIMIT: '1000000',
    ROLLCALL_CONCURRENT_REQUESTS: '100000',
    ROLLCALL_CONCURRENT_STREAMS: '100000',
    LOG_FORMAT: 'json',
    ...environment,
  });
  const { url, adminKeyFile = '' } = await startedLine(child);
  const key = environment['ROLLCALL_ADMIN_KEY'] ?? readFileSync(adminKeyFile, 'utf8').trim();
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  return { pid: child.pid ?? 0, url, headers: { authorization: `Bearer ${key}` }, stop };
}

function spawnNode(file: string, flags: string[], environment: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [...flags, file], {
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

async function end(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
