/**
 * Measures queries per second of the in-memory directory: top 10 by price, 200 capabilities, two sizes of the fleet, without
 * changes and with 1,000 heartbeats per second. Run: node bin/build.js && node dist/bench/directory.bench.js
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  agentBudget,
  agentLoad,
  CLOSED_CIRCUIT,
  Directory,
  Ranker,
  type AgentQuery,
  type DirectoryEntry,
} from '#rollcall/registry';
import { randomFrom } from './support/random.js';

const CAPABILITIES = 200;
const CLAIMS = 3;
const SECONDS = 3;
const BEATS_PER_SECOND = 1_000;
const START = Math.floor(performance.timeOrigin);

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function makeEntry(number: number, next: () => number): DirectoryEntry {
  const capabilities = Array.from({ length: CLAIMS }, () => `area.skill-${Math.floor(next() * CAPABILITIES)}`);
  const subscription = next() < 0.3;
  const moment = new Date(START).toISOString();
  return {
    agentId: `agent-${String(number).padStart(6, '0')}`,
    revision: 1,
    circuit: CLOSED_CIRCUIT,
    circuitVersion: 0,
    dampedUntil: null,
    record: {
      namespace: 'default',
      agentId: `agent-${String(number).padStart(6, '0')}`,
      name: `worker ${number}`,
      status: 'active',
      work: 'push',
      idempotent: false,
      typicalTokens: null,
      endpoint: `http://10.0.${number >> 8}.${number & 255}:5091`,
      agentCard: { protocolVersion: '1.0', description: `Agent number ${number}`, skills: capabilities },
      capabilities: [...new Set(capabilities)],
      sandboxLevel: number % 4,
      provider: { adapter: 'copilot', type: subscription ? 'subscription' : 'api', plan: null },
      budget: agentBudget({ totalTokens: subscription ? 500_000 : null, usedTokens: 1_000, source: 'reported' }),
      health: { state: 'active', lastHeartbeat: moment, consecutiveFailures: 0, circuitBreakerState: 'closed' },
      registeredAt: moment,
      lastTaskAt: null,
      generation: 1,
      definition: null,
      desiredState: 'active',
      load: agentLoad({ inFlight: 0, capacity: 8 }),
      costModel: { usdPerTask: null, usdPer1kTokens: subscription ? null : Math.ceil(next() * 1_000) / 100_000 },
      latency: { declaredMs: 200, observedMs: null },
      version: '1.0.0',
      labels: { zone: next() < 0.5 ? 'eu' : 'us' },
      owner: 'key:bench',
      leaveReason: null,
      leftAt: null,
    },
  };
}

interface Fleet {
  directory: Directory;
  ranker: Ranker;
  size: number;
  next: () => number;
}

function makeFleet(size: number): { fleet: Fleet; bytesPerAgent: number } {
  const next = randomFrom(size);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  const directory = new Directory();
  for (let number = 0; number < size; number += 1) directory.upsert(makeEntry(number, next), START);
  const ranker = new Ranker(directory);
  for (let at = 0; at < CAPABILITIES; at += 1) ranker.rank(topTen(at), START);
  collectGarbage();
  const bytesPerAgent = (process.memoryUsage().heapUsed - before) / size;
  return { fleet: { directory, ranker, size, next }, bytesPerAgent };
}

function topTen(capability: number, more: AgentQuery = {}): AgentQuery {
  return { capabilities: [`area.skill-${capability}`], prefer: 'cheapest', limit: 10, ...more };
}

function beat({ directory, size, next }: Fleet, now: number): void {
  const agentId = `agent-${String(Math.floor(next() * size)).padStart(6, '0')}`;
  const inFlight = Math.floor(next() * 9);
  directory.beat(agentId, { generation: 1, beatAt: now, inFlight }, now);
}

/** How many beats should have been sent after this time in milliseconds and this number of queries. */
type Pace = (elapsed: number, queries: number) => number;
const calm: Pace = () => 0;
const steady: Pace = (elapsed) => (elapsed * BEATS_PER_SECOND) / 1_000;
/** The ratio of beats to queries at 20,000 queries per second, which is about the limit of one replica over HTTP. */
const dense: Pace = (_, queries) => (queries / 20_000) * BEATS_PER_SECOND;

/** Sends queries for some seconds, with beats in between. Returns the queries per second. */
function measure(fleet: Fleet, pace: Pace, query: () => AgentQuery): { perSecond: number; bytes: number } {
  const began = performance.now();
  let queries = 0;
  let bytes = 0;
  let beats = 0;
  for (let elapsed = 0; elapsed < SECONDS * 1_000; elapsed = performance.now() - began) {
    const now = Math.floor(performance.timeOrigin + began + elapsed);
    for (; beats < pace(elapsed, queries); beats += 1) beat(fleet, now);
    for (let count = 0; count < 20; count += 1) bytes += fleet.ranker.rankJson(fleet.ranker.plan(query()), now).length;
    queries += 20;
  }
  return { perSecond: queries / ((performance.now() - began) / 1_000), bytes: bytes / queries };
}

function measureBeats(fleet: Fleet): number {
  const began = performance.now();
  const beats = 100_000;
  for (let at = 0; at < beats; at += 1) beat(fleet, Math.floor(performance.timeOrigin + began) + SECONDS * 1_000 + at);
  return beats / ((performance.now() - began) / 1_000);
}

for (const size of [10_000, 100_000]) {
  const { fleet, bytesPerAgent } = makeFleet(size);
  let serial = 0;
  const anySkill = (): number => Math.floor(fleet.next() * CAPABILITIES);
  const rows: [string, Pace, () => AgentQuery][] = [
    ['top 10 by price, no changes', calm, () => topTen(anySkill())],
    ['top 10 by price, 1,000 beats/s', steady, () => topTen(anySkill())],
    ['the same, 1 beat in 20 queries', dense, () => topTen(anySkill())],
    [
      'the same, no query repeated',
      dense,
      () => topTen(anySkill(), { filter: { minRemainingTokens: (serial += 1) / 1_000 } }),
    ],
    ['the same, filtered by label', steady, () => topTen(anySkill(), { filter: { labels: { zone: 'eu' } } })],
    ['round-robin, 1,000 beats/s', steady, () => topTen(anySkill(), { prefer: 'round-robin' })],
    ['least-loaded, 1,000 beats/s', steady, () => topTen(anySkill(), { prefer: 'least-loaded' })],
    ['two capabilities, any', steady, () => anyOf(anySkill(), anySkill())],
    ['two capabilities, all', steady, () => allOf(anySkill(), anySkill())],
    ['the whole area', steady, () => ({ capabilities: ['area'], prefer: 'cheapest', limit: 10 })],
  ];
  console.log(
    `\n${size} agents, ${CAPABILITIES} capabilities, ${Math.round(bytesPerAgent)} bytes of memory per agent, record included`,
  );
  for (const [what, pace, query] of rows) {
    const { perSecond, bytes } = measure(fleet, pace, query);
    const cost = (1_000_000 / perSecond).toFixed(1);
    console.log(
      `  ${what.padEnd(34)} ${Math.round(perSecond).toString().padStart(9)} queries/s  ${cost.padStart(6)} µs  ${Math.round(bytes)} bytes`,
    );
  }
  console.log(`  ${'beats alone'.padEnd(34)} ${Math.round(measureBeats(fleet)).toString().padStart(9)} beats/s`);
}

function anyOf(...skills: number[]): AgentQuery {
  return { capabilities: { any: skills.map((skill) => `area.skill-${skill}`) }, prefer: 'cheapest', limit: 10 };
}

function allOf(...skills: number[]): AgentQuery {
  return { capabilities: skills.map((skill) => `area.skill-${skill}`), prefer: 'cheapest', limit: 10 };
}
