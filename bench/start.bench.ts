import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { buildCommit, hasCommit } from './support/built.commit.js';
import { median } from './support/compare.js';
import { cpuSecondsOf, memoryMbOf } from './support/cpu.time.js';
import { V8_FLAGS } from './support/servers.js';
import { requireAtMost } from './support/target.js';

/**
 * Compares the second start of this tree with that of another commit: the time until the server is ready, and its memory when it is
 * idle. Both start in turn, with the command of `npm start`, on the embedded Postgres with an existing database.
 * `npm run bench:start -- [commit, 1a688103] [rounds, 7]`
 */
const [ref = '1a688103', rounds = '7'] = process.argv.slice(2);
const READY_TARGET = 0.65;
const MEMORY_TARGET = 0.8;
const IDLE_MS = 5_000;
const POLL_MS = 10;
const START_LIMIT_MS = 60_000;

interface Side {
  name: string;
  /** The checkout. */
  root: string;
  data: string;
}

interface Start {
  readyMs: number;
  /** The CPU time of the server process until it is ready. On a busy machine, it varies less than the time. */
  cpuMs: number;
  memoryMb: number;
}

async function measure({ root, data }: Side): Promise<Start> {
  const port = await freePort();
  const started = performance.now();
  const server = spawn(process.execPath, [...V8_FLAGS, ...programOf(root)], {
    cwd: root,
    env: { ...process.env, PORT: String(port), ROLLCALL_DATA_DIR: data, LOG_FORMAT: 'json' },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  try {
    await untilReady(server, port);
    const readyMs = performance.now() - started;
    const cpuMs = cpuSecondsOf(server.pid ?? 0) * 1_000;
    await delay(IDLE_MS);
    return { readyMs, cpuMs, memoryMb: memoryMbOf(server.pid ?? 0) };
  } finally {
    const exit = once(server, 'exit');
    if (server.kill('SIGTERM')) await exit;
  }
}

/** The program of `npm start` and its arguments, which the commits can have changed. */
function programOf(root: string): string[] {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { start: string } };
  return scripts.start.slice(scripts.start.indexOf('bin/')).split(' ');
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}

async function untilReady(server: ChildProcess, port: number): Promise<void> {
  const deadline = performance.now() + START_LIMIT_MS;
  while (!(await isReady(port))) {
    if (server.exitCode !== null) throw new Error(`the server ended with code ${server.exitCode}`);
    if (performance.now() > deadline) throw new Error('the server does not become ready');
    await delay(POLL_MS);
  }
}

async function isReady(port: number): Promise<boolean> {
  const { promise, resolve: done } = Promise.withResolvers<boolean>();
  const request = get({ port, host: '127.0.0.1', path: '/health/ready', agent: false }, (response) => {
    response.resume();
    done(response.statusCode === 200);
  });
  request.on('error', () => done(false)); // it does not listen yet
  return await promise;
}

function print(name: string, starts: readonly Start[]): void {
  const of = (what: keyof Start): string => Math.round(median(starts.map((start) => start[what]))).toString();
  console.log(
    `  ${name.padEnd(60)} ready ${of('readyMs')} ms  CPU ${of('cpuMs')} ms  idle memory ${of('memoryMb')} MB`,
  );
}

if (!hasCommit(ref)) throw new Error(`This clone does not contain the commit ${ref}: git fetch --unshallow`);
const other = buildCommit(ref);
const folder = mkdtempSync(join(tmpdir(), 'rollcall-start-'));
const sides: Side[] = [
  { name: other.title, root: join(other.dist, '..'), data: join(folder, 'before') },
  { name: 'this tree', root: resolve(import.meta.dirname, '../..'), data: join(folder, 'after') },
];
try {
  for (const side of sides) await measure(side); // creates the database, and fills the caches
  const results: Start[][] = sides.map(() => []);
  for (let round = 0; round < Number(rounds); round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    for (const index of order) results[index]?.push(await measure(sides[index]));
  }
  const [before = [], after = []] = results;
  console.log(`\nsecond start on an existing database, medians of ${rounds} rounds`);
  print(sides[0].name, before);
  print(sides[1].name, after);
  const ratio = (what: keyof Start): number => median(after.map((start, round) => start[what] / before[round][what]));
  console.log(`  CPU time until ready: ${ratio('cpuMs').toFixed(2)} of that commit`);
  requireAtMost(READY_TARGET, ratio('readyMs'), 'time until ready, this tree / that commit');
  requireAtMost(MEMORY_TARGET, ratio('memoryMb'), 'idle memory, this tree / that commit');
} finally {
  other.remove();
  rmSync(folder, { recursive: true, force: true });
}
