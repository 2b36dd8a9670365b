/**
 * Sends hostile requests to every documented operation and both WebSockets of a real server.
 *
 *     npm run fuzz -- <seconds> [seed]
 *     npm run fuzz -- --replay <seed>/<index>
 */
import { setTimeout as delay } from 'node:timers/promises';
import { FuzzServer } from './fuzz.server.js';
import { Fuzzer } from './fuzzer.js';
import { CaseGenerator } from './generator.js';
import { HeapWatch } from './heap.watch.js';
import { type OpenApiDocument, readOperations, undocumentedOperations } from './openapi.js';
import { describeAnswer } from './oracle.js';
import { protocolOperations } from './protocol.operations.js';
import { describeCase, Report } from './report.js';
import { type FuzzRun, summarise } from './summary.js';
import { Fixtures } from './fixtures.js';

const CONCURRENCY = 16;
const MAINTAIN_EVERY_MS = 200;
const MAX_HEAP_SAMPLES = 60;
const REPLAYS = 3;
const LAST_TURNS = 12;
/** Later than all turns in the time of a run, so that each case has its own index. */
const FIRST_OF_LAST_TURNS = 10_000;

async function documentOf(server: FuzzServer): Promise<OpenApiDocument> {
  const answer = await fetch(`${server.url}/openapi.json`);
  return (await answer.json()) as OpenApiDocument;
}

interface Run extends FuzzRun {
  fixtures: Fixtures;
  cases: CaseGenerator;
}

async function prepare(server: FuzzServer, seed: number): Promise<Run> {
  const document = await documentOf(server);
  const operations = [...readOperations(document), ...protocolOperations()];
  const fixtures = new Fixtures(server, operations);
  await fixtures.create();
  const cases = new CaseGenerator(seed, [...operations, ...undocumentedOperations(document)]);
  const report = new Report(seed);
  return { server, fixtures, report, cases, operations, fuzzer: new Fuzzer({ server, fixtures, cases, report }) };
}

async function fuzz(run: Run, seconds: number, seed: number): Promise<void> {
  const { server, fixtures, fuzzer } = run;
  const endsAt = performance.now() + seconds * 1_000;
  const running = (): boolean => performance.now() < endsAt && server.exited === undefined;
  const heap = new HeapWatch(server);
  let index = 0;
  const next = (): number | undefined => (running() ? index++ : undefined);
  await Promise.all([
    ...Array.from({ length: CONCURRENCY }, async () => await fuzzer.work(next)),
    every(MAINTAIN_EVERY_MS, running, async () => await fuzzer.lock.shared(async () => await fixtures.maintain())),
    every(
      Math.max(1_000, (seconds * 1_000) / MAX_HEAP_SAMPLES),
      running,
      async () => await fuzzer.lock.shared(async () => await heap.sample()),
    ),
  ]);
  const report = heap.report();
  await reachRest(run);
  const summary = summarise(run, report);
  console.log(JSON.stringify({ seed, seconds, ...summary }));
  if (summary.faults > 0) process.exitCode = 1;
}

/**
 * On a slow machine, some operations never find an object in the state that they need, because other requests change it first. They get further
 * turns, without other requests, after all objects were restored.
 */
async function reachRest({ server, fixtures, fuzzer, cases, operations }: Run): Promise<void> {
  for (let turn = 0; turn < LAST_TURNS; turn++) {
    const unreached = operations.filter(({ id }) => !fuzzer.succeeded.has(id));
    if (unreached.length === 0 || server.exited !== undefined) return;
    await fixtures.restore();
    for (const { id } of unreached) await fuzzer.runCase(cases.indexOfValid(id, FIRST_OF_LAST_TURNS + turn));
  }
}

async function every(ms: number, running: () => boolean, work: () => Promise<void>): Promise<void> {
  while (running()) {
    await work();
    await delay(ms);
  }
}

async function replay({ fixtures, fuzzer, cases, report }: Run, index: number): Promise<void> {
  const fuzzCase = cases.make(index);
  console.log(describeCase(fuzzCase));
  for (let time = 0; time < REPLAYS; time++) {
    const exchange = await fuzzer.runCase(index);
    console.log(exchange ? `${Math.round(exchange.ms)} ms: ${describeAnswer(exchange)}` : 'no connection');
    await fixtures.maintain();
  }
  if (report.faults.length > 0) process.exitCode = 1;
}

const [first = '60', second] = process.argv.slice(2);
const [replaySeed, replayIndex] = first === '--replay' ? (second ?? '').split('/').map(Number) : [];
const seed = replaySeed ?? (second === undefined ? Date.now() % 1_000_000 : Number(second));
if (![seed, replayIndex ?? Number(first)].every(Number.isFinite)) {
  console.error('usage: npm run fuzz -- <seconds> [seed] | npm run fuzz -- --replay <seed>/<index>');
  process.exit(2);
}
const server = await FuzzServer.start();
try {
  const run = await prepare(server, seed);
  try {
    if (replayIndex !== undefined) await replay(run, replayIndex);
    else await fuzz(run, Number(first), seed);
  } finally {
    run.fuzzer.stop();
    await run.fixtures.close();
  }
} finally {
  await server.stop();
}
