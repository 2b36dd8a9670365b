import * as fc from 'fast-check';
import { agentLoad } from '../../agents/agent.record.js';
import type { CircuitState } from '../../circuit/circuit.breaker.js';
import { given } from '../../testing/given.js';
import { NaiveRanking } from '../../testing/naive-ranking.js';
import type { AgentQuery, CapabilitySets } from '../ranking/agent.query.js';
import { CapabilityAliases } from '../capabilities/capability.aliases.js';
import { Directory } from './directory.js';
import {
  historyIn,
  isNewer,
  type CallHistory,
  type DirectoryEntry,
  type Revision,
  type Vitals,
} from './directory.entry.js';
import type { QueryPlan } from '../ranking/query.plan.js';
import { Ranker } from '../ranking/ranker.js';
import type { Ranking } from '../ranking/ranking.js';

const ALIASES = { coding: 'code', 'can build': 'code.build' };
const WORDS = [
  'code',
  'code.build',
  'code.build.rust',
  'code.review',
  'plan',
  'Coding',
  'coding.rust',
  'can-build',
  'test',
];
const QUERIED = [...WORDS, 'code.bild', 'tests', 'unclaimed'];
const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];
const START = Date.parse('2026-02-24T10:00:00Z');

const moment = fc.integer({ min: 0, max: 60 }).map((seconds) => START + seconds * 1_000);
const anyGeneration = fc.constantFrom(1, 1, 1, 1, 2);
const circuit: fc.Arbitrary<CircuitState> = fc.record({
  phase: fc.constantFrom('closed', 'closed', 'closed', 'open', 'half_open'),
  consecutiveFailures: fc.nat(9),
  openings: fc.nat(3),
  openUntil: moment,
  probe: fc.option(fc.record({ id: fc.constant('p'), expiresAt: moment })),
});
const circuitVersion = fc.nat(6);
const price = fc.option(fc.constantFrom(0, 0.001, 0.003, 0.5));

const entry: fc.Arbitrary<DirectoryEntry> = fc
  .record({
    agentId: fc.constantFrom(...IDS),
    generation: anyGeneration,
    revision: fc.integer({ min: 1, max: 20 }),
    capabilities: fc.uniqueArray(fc.constantFrom(...WORDS), { maxLength: 3 }),
    circuit,
    circuitVersion,
    suspect: fc.boolean(),
    dampedUntil: fc.oneof({ weight: 5, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: moment }),
    desiredState: fc.constantFrom('active', 'active', 'active', 'draining', 'quarantined'),
    remaining: fc.constantFrom(undefined, undefined, 376_544, 400_000, 12_000, 0),
    ratio: fc.constantFrom(0, 0.05, 0.2, 0.9, 1, 1.5),
    sandboxLevel: fc.nat(3),
    provider: fc.record({
      adapter: fc.constantFrom('copilot', 'claude'),
      type: fc.constantFrom('api', 'subscription'),
      plan: fc.constant(null),
    }),
    costModel: fc.record({ usdPerTask: price, usdPer1kTokens: price }),
    latency: fc.record({ declaredMs: fc.option(fc.nat(3)), observedMs: fc.option(fc.nat(3)) }),
    labels: fc.constantFrom<Record<string, string>[]>({}, { zone: 'eu' }, { zone: 'us', tier: 'gold' }),
  })
  .map(({ remaining, ...overrides }) => given.entry({ ...overrides, remaining, totalTokens: remaining && 500_000 }));

const capabilities = fc.oneof(
  fc.constantFrom<string[][]>(['code'], ['plan'], ['code.build']),
  fc.uniqueArray(fc.constantFrom(...QUERIED), { maxLength: 2 }),
);
const query: fc.Arbitrary<AgentQuery> = fc.record(
  {
    capabilities: fc.oneof(
      capabilities,
      fc.record({ all: capabilities, any: capabilities, none: fc.constantFrom([], ['plan'], ['code.review']) }),
    ),
    prefer: fc.constantFrom('cheapest', 'fastest', 'least-loaded', 'round-robin'),
    limit: fc.integer({ min: 1, max: 7 }),
    fuzzy: fc.boolean(),
    filter: fc.record(
      {
        provider: fc.constantFrom({ adapter: 'claude' }, { type: 'subscription' }),
        sandboxLevel: fc.constantFrom(1, { min: 1 }, { max: 2 }),
        maxUsdPer1kTokens: fc.constant(0.002),
        minRemainingTokens: fc.constant(100_000),
        labels: fc.constant({ zone: 'eu' }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ['limit', 'capabilities'] },
);

type Operation =
  | { kind: 'upsert'; entry: DirectoryEntry }
  | { kind: 'beat'; agentId: string; vitals: Vitals }
  | { kind: 'recordCalls'; agentId: string; history: CallHistory }
  | { kind: 'remove'; agentId: string; at: Revision }
  | { kind: 'replaceAll'; entries: DirectoryEntry[]; concurrent: DirectoryEntry[] }
  | { kind: 'wait'; ms: number };

const anyVitals: fc.Arbitrary<Vitals> = fc.record({
  generation: anyGeneration,
  beatAt: fc.integer({ min: 1, max: 10_000 }).map((ms) => START + ms),
  inFlight: fc.option(fc.constantFrom(0, 2, 8), { nil: undefined }),
  loadRatio: fc.option(fc.constantFrom(0, 0.2, 1), { nil: undefined }),
  reportedMs: fc.option(fc.nat(3), { nil: undefined }),
});
const history: fc.Arbitrary<CallHistory> = fc.record({
  circuit,
  version: circuitVersion,
  observedMs: fc.option(fc.nat(3)),
  lastTaskAt: moment.map((ms) => new Date(ms).toISOString()),
});
const revision = fc.record({ generation: anyGeneration, revision: fc.integer({ min: 1, max: 12 }) });
const agentId = fc.constantFrom(...IDS);
const snapshot = fc.uniqueArray(entry, { selector: ({ record }) => record.agentId, maxLength: 6 });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('upsert' as const), entry }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('beat' as const), agentId, vitals: anyVitals }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('recordCalls' as const), agentId, history }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('remove' as const), agentId, at: revision }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('replaceAll' as const), entries: snapshot, concurrent: snapshot }),
  },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(15_000) }) },
);

/** A model of the directory: a list with two rules. The newest write wins, and a removal overrides older writes that arrive later. */
class Model {
  readonly listed = new Map<string, DirectoryEntry>();
  private readonly removed = new Map<string, Revision>();

  upsert(next: DirectoryEntry): boolean {
    const id = next.record.agentId;
    const known = this.listed.get(id);
    const before = known ? { generation: known.record.generation, revision: known.revision } : this.removed.get(id);
    if (before && !isNewer({ generation: next.record.generation, revision: next.revision }, before)) return false;
    this.listed.set(id, known ? keepHistory(keepBeat(next, known), known) : next);
    return true;
  }

  beat(id: string, vitals: Vitals): boolean {
    const { generation, beatAt } = vitals;
    const known = this.listed.get(id);
    if (!known || known.record.generation !== generation) return false;
    const { record } = known;
    if (Date.parse(record.health.lastHeartbeat ?? '') >= beatAt) return false;
    const health = { ...record.health, state: 'active' as const, lastHeartbeat: new Date(beatAt).toISOString() };
    const reportedMs = vitals.reportedMs ?? known.reportedMs;
    const latency = { ...record.latency, declaredMs: reportedMs ?? record.latency.declaredMs };
    const reportedRatio = vitals.loadRatio ?? known.reportedRatio;
    const inFlight = vitals.inFlight ?? record.load.inFlight;
    const load = agentLoad({ inFlight, capacity: record.load.capacity, reportedRatio });
    this.listed.set(id, { ...known, reportedRatio, reportedMs, record: { ...record, health, latency, load } });
    return true;
  }

  recordCalls(id: string, { circuit: state, version, observedMs, lastTaskAt }: CallHistory): boolean {
    const known = this.listed.get(id);
    if (!known || known.circuitVersion >= version) return false;
    const { record } = known;
    const { consecutiveFailures, phase: circuitBreakerState } = state;
    const health = { ...record.health, consecutiveFailures, circuitBreakerState };
    const called = { ...record, health, lastTaskAt, latency: { ...record.latency, observedMs } };
    this.listed.set(id, { ...known, circuit: state, circuitVersion: version, record: called });
    return true;
  }

  remove(id: string, at: Revision): boolean {
    const known = this.listed.get(id);
    if (known && isNewer({ generation: known.record.generation, revision: known.revision }, at)) return false;
    const before = this.removed.get(id);
    if (!before || isNewer(at, before)) this.removed.set(id, at);
    return this.listed.delete(id);
  }

  replaceAll(entries: DirectoryEntry[], spared: Set<string>): void {
    // calls do not change the revision, so those of an older record count too
    for (const next of entries) if (!this.upsert(next)) this.recordCalls(next.record.agentId, historyIn(next));
    const present = new Set(entries.map(({ record }) => record.agentId));
    for (const [id, { record, revision: number }] of this.listed) {
      if (!present.has(id) && !spared.has(id)) this.remove(id, { generation: record.generation, revision: number });
    }
  }
}

function keepBeat(next: DirectoryEntry, known: DirectoryEntry): DirectoryEntry {
  const { health, load, generation } = known.record;
  const later = Date.parse(health.lastHeartbeat ?? '') > Date.parse(next.record.health.lastHeartbeat ?? '');
  if (next.record.generation !== generation || !later) return next;
  const reportedMs = known.reportedMs ?? next.reportedMs;
  const declaredMs = reportedMs ?? next.record.latency.declaredMs;
  const keptHealth = { ...next.record.health, state: 'active' as const, lastHeartbeat: health.lastHeartbeat };
  const record = { ...next.record, health: keptHealth, load, latency: { ...next.record.latency, declaredMs } };
  return { ...next, reportedRatio: known.reportedRatio ?? next.reportedRatio, reportedMs, record };
}

function keepHistory(next: DirectoryEntry, known: DirectoryEntry): DirectoryEntry {
  if (next.circuitVersion >= known.circuitVersion) return next;
  const { consecutiveFailures, phase: circuitBreakerState } = known.circuit;
  const health = { ...next.record.health, consecutiveFailures, circuitBreakerState };
  const { lastTaskAt, latency } = known.record;
  const record = {
    ...next.record,
    health,
    lastTaskAt,
    latency: { ...next.record.latency, observedMs: latency.observedMs },
  };
  return { ...next, circuit: known.circuit, circuitVersion: known.circuitVersion, record };
}

function apply(directory: Directory, model: Model, step: Exclude<Operation, { kind: 'wait' }>, now: number): void {
  if (step.kind === 'upsert') {
    expect(directory.upsert(step.entry, now)).toBe(model.upsert(step.entry));
  } else if (step.kind === 'beat') {
    expect(directory.beat(step.agentId, step.vitals, now)).toBe(model.beat(step.agentId, step.vitals));
  } else if (step.kind === 'recordCalls') {
    const { agentId: id, history: calls } = step;
    expect(directory.recordCalls(id, calls, now)).toBe(model.recordCalls(id, calls));
  } else if (step.kind === 'remove') {
    expect(directory.remove(step.agentId, step.at, now)).toBe(model.remove(step.agentId, step.at));
  } else {
    const mark = directory.mark();
    const spared = new Set<string>();
    for (const own of step.concurrent) {
      if (directory.upsert(own, now)) spared.add(own.record.agentId);
      model.upsert(own);
    }
    directory.replaceAll(step.entries, mark, now);
    model.replaceAll(step.entries, spared);
  }
}

/** Compares the directory with the naive ranking, and records the first agent of each rotation. */
class Comparison {
  private readonly aliases = new CapabilityAliases(ALIASES);
  readonly directory = new Directory({ aliases: this.aliases, tombstoneMs: Infinity });
  readonly model = new Model();
  private readonly ranker = new Ranker(this.directory);
  private readonly firsts = new Map<string, string>();
  private readonly plans = new Map<AgentQuery, QueryPlan>();

  check(agentQuery: AgentQuery, now: number): void {
    const strategy = this.ranker.strategies.get(agentQuery.prefer ?? 'cheapest');
    const rotation = strategy.rotates ? this.rotationKey(agentQuery) : undefined;
    const naive = new NaiveRanking(this.model.listed.values(), this.aliases, now);
    const expected = naive.rank(agentQuery, strategy, rotation === undefined ? undefined : this.firsts.get(rotation));
    const answer = JSON.parse(this.ranker.rankJson(this.planOf(agentQuery), now)) as Ranking;
    expect(answer.candidates.map(({ agent }) => agent.agentId)).toEqual(expected);
    if (rotation !== undefined && expected.length > 0) this.firsts.set(rotation, expected[0]);
    // The JSON from cached plans and documents equals the objects that `rank` creates.
    if (rotation === undefined) expect(answer).toEqual(JSON.parse(JSON.stringify(this.ranker.rank(agentQuery, now))));
  }

  /** Caches plans, as the API does. */
  private planOf(agentQuery: AgentQuery): QueryPlan {
    const plan = this.plans.get(agentQuery) ?? this.ranker.plan(agentQuery);
    this.plans.set(agentQuery, plan);
    return plan;
  }

  private rotationKey({ capabilities: words = [], filter = {}, fuzzy = false }: AgentQuery): string {
    const sets: CapabilitySets = Array.isArray(words) ? { all: words } : (words as CapabilitySets);
    const resolved = [sets.all, sets.any, sets.none].map((list) => this.aliases.resolveAll(list ?? []));
    const overrides = Object.entries(filter).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    return JSON.stringify([resolved, overrides.toSorted(), fuzzy]);
  }
}

describe('the directory and its ranking', () => {
  it('S3.6 B1 every query gets the same answer as a scan of all agents, after any sequence of changes', () => {
    const queries = fc.array(query, { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(queries, fc.array(operation, { maxLength: 40 }), (agentQueries, operations) => {
        const comparison = new Comparison();
        const { directory, model } = comparison;
        let now = START;
        for (const step of operations) {
          if (step.kind === 'wait') now += step.ms;
          else apply(directory, model, step, now);
          for (const agentQuery of agentQueries) comparison.check(agentQuery, now);
          expect(directory.size).toBe(model.listed.size);
        }
        for (const id of IDS) expect(directory.find(id)).toEqual(model.listed.get(id));
      }),
      { numRuns: 500 },
    );
  });
});
