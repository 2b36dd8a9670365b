/**
 * Hostile requests against every documented operation and both WebSockets of a real server.
 *
 *     npm run fuzz -- <seconds> [seed]
 *     npm run fuzz -- --replay <seed>/<index>
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FuzzServer } from './fuzz.server.js';
import { Fuzzer } from './fuzzer.js';
import { CaseGenerator } from './generator.js';
import { HeapWatch } from './heap.watch.js';
import { type OpenApiDocument, type Operation, readOperations, undocumentedOperations } from './openapi.js';
import { describeAnswer } from './oracle.js';
import { describeCase, Report } from './report.js';
import { World } from './world.js';

const AT_ONCE = 16;
const TEND_EVERY_MS = 200;
const MOST_HEAP_SAMPLES = 60;
const REPLAYS = 3;
/** So many 503 that do not repeat are blamed on a busy machine. */
const MOST_UNAVAILABLE = 20;
const MOST_UNAVAILABLE_SHARE = 0.01;

async function documentOf(server: FuzzServer): Promise<OpenApiDocument> {
  const answer = await fetch(`${server.url}/openapi.json`);
  return (await answer.json()) as OpenApiDocument;
}

interface Run {
  server: FuzzServer;
  world: World;
  report: Report;
  fuzzer: Fuzzer;
  cases: CaseGenerator;
  operations: Operation[];
}

async function prepare(server: FuzzServer, seed: number): Promise<Run> {
  const document = await documentOf(server);
  const operations = readOperations(document);
  const world = new World(server, operations);
  await world.create();
  const cases = new CaseGenerator(seed, [...operations, ...undocumentedOperations(document)]);
  const report = new Report(seed);
  return { server, world, report, cases, operations, fuzzer: new Fuzzer({ server, world, cases, report }) };
}

async function fuzz({ server, world, report, fuzzer, operations }: Run, seconds: number, seed: number): Promise<void> {
  const endsAt = performance.now() + seconds * 1_000;
  const running = (): boolean => performance.now() < endsAt && server.exited === undefined;
  const heap = new HeapWatch(server);
  let index = 0;
  const next = (): number | undefined => (running() ? index++ : undefined);
  await Promise.all([
    ...Array.from({ length: AT_ONCE }, async () => await fuzzer.work(next)),
    every(TEND_EVERY_MS, running, async () => await fuzzer.crossing.together(async () => await world.tend())),
    every(
      Math.max(1_000, (seconds * 1_000) / MOST_HEAP_SAMPLES),
      running,
      async () => await fuzzer.crossing.together(async () => await heap.sample()),
    ),
  ]);
  const memory = heap.report();
  if (server.exited !== undefined) {
    const answer = `cases in flight: ${[...fuzzer.inFlight].join(', ')}; ${server.exited}`;
    report.addGlobal({ kind: 'exit', detail: '', answer });
  }
  if (memory.grows) report.addGlobal({ kind: 'heap-growth', detail: '', answer: JSON.stringify(memory) });
  const { sent, lateOnce, unavailableOnce, statuses } = fuzzer;
  if (unavailableOnce > Math.max(MOST_UNAVAILABLE, sent * MOST_UNAVAILABLE_SHARE))
    report.addGlobal({ kind: 'server-error', detail: '503', answer: `${unavailableOnce} of ${sent} answers are 503` });
  reportLoggedErrors(server, report);
  report.printCounts();
  const unreached = operations.map(({ id }) => id).filter((id) => !fuzzer.succeeded.has(id));
  const faults = report.faults.length;
  console.log(
    JSON.stringify({ seed, seconds, sent, statuses, lateOnce, unavailableOnce, heap: memory, unreached, faults }),
  );
  if (faults > 0) process.exitCode = 1;
}

async function every(ms: number, running: () => boolean, work: () => Promise<void>): Promise<void> {
  while (running()) {
    await work();
    await delay(ms);
  }
}

/** What was logged about a request is shown with it; the rest happened in the background. */
function reportLoggedErrors(server: FuzzServer, report: Report): void {
  for (const { event = '', msg = '', err, requestId } of server.errors) {
    if (requestId !== undefined) continue;
    const answer = `${err?.type ?? ''}: ${err?.message ?? msg} ${err?.stack ?? ''}`.slice(0, 1_500);
    report.addGlobal({ kind: 'logged-error', detail: `${event} ${(err?.message ?? msg).slice(0, 80)}`, answer });
  }
}

async function replay({ world, fuzzer, cases, report }: Run, index: number): Promise<void> {
  const fuzzCase = cases.make(index);
  console.log(describeCase(fuzzCase));
  for (let time = 0; time < REPLAYS; time++) {
    const exchange = await fuzzer.runCase(index);
    console.log(exchange ? `${Math.round(exchange.ms)} ms: ${describeAnswer(exchange)}` : 'no connection');
    await world.tend();
  }
  if (report.faults.length > 0) process.exitCode = 1;
}

const [first = '60', second] = process.argv.slice(2);
const [replaySeed, replayIndex] = first === '--replay' ? (second ?? '').split('/').map(Number) : [];
const seed = replaySeed ?? (second === undefined ? Date.now() % 1_000_000 : Number(second));
const server = await FuzzServer.start();
try {
  const run = await prepare(server, seed);
  try {
    if (replayIndex !== undefined) await replay(run, replayIndex);
    else await fuzz(run, Number(first), seed);
  } finally {
    run.fuzzer.stop();
    await run.world.close();
  }
} finally {
  await server.stop();
}
