import { CLOSED_CIRCUIT } from '../../circuit/circuit.breaker.js';
import type { EntryOverrides } from '../../testing/directory-entries.js';
import { given } from '../../testing/given.js';
import { CapabilityAliases } from '../capabilities/capability.aliases.js';
import { Directory } from '../directory/directory.js';
import type { AgentQuery } from './agent.query.js';
import type { Assessment } from './assessment.js';
import { InvalidQueryError } from './query.plan.js';
import { Ranker } from './ranker.js';
import type { Ranking } from './ranking.js';
import { defaultStrategies, type SelectionStrategy, Strategies, UnknownStrategyError } from './strategies.js';

const NOW = Date.parse('2026-02-24T10:30:00Z');
const OPEN = { ...CLOSED_CIRCUIT, phase: 'open' as const, consecutiveFailures: 5, openUntil: NOW + 4_000 };

function rankerOf(agents: EntryOverrides[], strategies?: Strategies): { ranker: Ranker; directory: Directory } {
  const directory = new Directory({ aliases: new CapabilityAliases({ 'can code': 'code' }) });
  for (const overrides of agents) directory.upsert(given.entry(overrides), NOW);
  return { directory, ranker: new Ranker(directory, strategies) };
}

const ids = ({ candidates }: Ranking): string[] => candidates.map(({ agent }) => agent.agentId);

function ask(agents: EntryOverrides[], query: AgentQuery): string[] {
  return ids(rankerOf(agents).ranker.rank(query, NOW));
}

const SUBSCRIPTION = { adapter: 'copilot', type: 'subscription', plan: 'github-copilot-business' };
const BUILDERS: EntryOverrides[] = [
  { agentId: 'builder-03', provider: SUBSCRIPTION, remaining: 12_000, totalTokens: 500_000 },
  { agentId: 'builder-02', costModel: { usdPerTask: null, usdPer1kTokens: 0.003 } },
  { agentId: 'builder-01', provider: SUBSCRIPTION, remaining: 376_544, totalTokens: 500_000 },
];

describe('the ranking', () => {
  it('S3.6 B1 ranks the example of the specification in the order that the specification states, with the low-budget mark', () => {
    const { candidates } = rankerOf(BUILDERS).ranker.rank({ capabilities: ['build'], prefer: 'cheapest' }, NOW);
    const lines = candidates.map(({ rank, agent, reasons }) => `${rank}. ${agent.agentId} (${reasons.join(', ')})`);
    expect(lines).toEqual([
      '1. builder-01 (subscription, $0/task, 376k tokens remaining)',
      '2. builder-02 (api, $0.003/1k tokens, unlimited tokens)',
      '3. builder-03 (subscription, $0/task, 12k tokens remaining, low budget)',
    ]);
    expect(candidates.map(({ marks }) => marks)).toEqual([[], [], ['low_budget']]);
    expect(candidates.map(({ score }) => score)).toEqual([0, 0.03, 0]);
  });

  it('S3.6 requires all capabilities by default', () => {
    const agents = [
      { agentId: 'both', capabilities: ['plan', 'build'] },
      { agentId: 'one', capabilities: ['plan'] },
    ];
    expect(ask(agents, { capabilities: ['plan', 'build'] })).toEqual(['both']);
    expect(ask(agents, { capabilities: { any: ['plan', 'build'] } })).toEqual(['both', 'one']);
    expect(ask(agents, { capabilities: { all: ['plan'], none: ['build'] } })).toEqual(['one']);
    expect(ask(agents, {})).toEqual(['both', 'one']);
  });

  it('S3.12 matches by hierarchy and alias, and by similarity only if the query is fuzzy', () => {
    const agents = [
      { agentId: 'wide', capabilities: ['code'] },
      { agentId: 'narrow', capabilities: ['Code.Build'] },
    ];
    expect(ask(agents, { capabilities: ['can code'] })).toEqual(['narrow', 'wide']);
    expect(ask(agents, { capabilities: ['code.build'] })).toEqual(['narrow']);
    expect(ask(agents, { capabilities: ['code.bulid'] })).toEqual([]);
    expect(ask(agents, { capabilities: ['code.bulid'], fuzzy: true })).toEqual(['narrow', 'wide']);
  });

  it('S3.12 ranks exact matches before similar ones, whatever the price', () => {
    const agents = [
      { agentId: 'similar', capabilities: ['builder'], costModel: { usdPerTask: 0, usdPer1kTokens: null } },
      { agentId: 'exact', capabilities: ['plan'], costModel: { usdPerTask: 9, usdPer1kTokens: null } },
    ];
    const { candidates } = rankerOf(agents).ranker.rank(
      { capabilities: { any: ['plan', 'buildr'] }, fuzzy: true },
      NOW,
    );
    expect(candidates.map(({ agent, marks }) => [agent.agentId, marks])).toEqual([
      ['exact', []],
      ['similar', ['fuzzy_match']],
    ]);
  });

  it('S3.12 lists an agent once if it matches exactly and by similarity', () => {
    const agents = [{ agentId: 'a', capabilities: ['plan', 'builder'] }];
    expect(ask(agents, { capabilities: { any: ['plan', 'buildr'] }, fuzzy: true })).toEqual(['a']);
  });

  it('S3.7 ranks the fastest agent first, by observed or else declared latency, and agents with unknown latency last', () => {
    const agents = [
      { agentId: 'a' },
      { agentId: 'b', latency: { declaredMs: 5, observedMs: 300 } },
      { agentId: 'c', latency: { declaredMs: 100, observedMs: null } },
    ];
    expect(ask(agents, { prefer: 'fastest' })).toEqual(['c', 'b', 'a']);
  });

  it('S3.7 ranks the least loaded agent first', () => {
    const agents = [
      { agentId: 'a', ratio: 0.5 },
      { agentId: 'b', ratio: 0.1 },
      { agentId: 'c', ratio: 0.49 },
    ];
    expect(ask(agents, { prefer: 'least-loaded' })).toEqual(['b', 'c', 'a']);
  });

  it('S3.7 the reason for an agent without a declared capacity contains its number of tasks in progress', () => {
    const { candidates } = rankerOf([{ agentId: 'a', ratio: 0.5 }]).ranker.rank({ prefer: 'least-loaded' }, NOW);
    expect(candidates[0]?.reasons).toContain('50 % busy (0 in progress)');
  });

  it('S3.7 breaks ties by agentId', () => {
    expect(ask([{ agentId: 'b' }, { agentId: 'a' }, { agentId: 'c' }], {})).toEqual(['a', 'b', 'c']);
  });

  it('B1 ranks saturated, suspect and half-open agents after ready agents, whatever the price', () => {
    const free = { usdPerTask: 0, usdPer1kTokens: null };
    const agents = [
      { agentId: 'expensive', costModel: { usdPerTask: 9, usdPer1kTokens: null } },
      { agentId: 'saturated', costModel: free, ratio: 1 },
      { agentId: 'probe', costModel: free, circuit: { ...OPEN, openUntil: NOW } },
      { agentId: 'suspect', costModel: free, suspect: true },
    ];
    expect(ask(agents, {})).toEqual(['expensive', 'saturated', 'suspect', 'probe']);
  });

  it('S3.7 rejects an unknown strategy and names the known ones', () => {
    const { ranker } = rankerOf([]);
    expect(() => ranker.rank({ prefer: 'nicest' }, NOW)).toThrow(UnknownStrategyError);
    expect(() => ranker.rank({ prefer: 'constructor' }, NOW)).toThrow(
      'Set prefer to one of: cheapest, fastest, least-loaded, round-robin.',
    );
  });

  it('S3.7 accepts a new strategy as one class and one registration', () => {
    class NewestStrategy implements SelectionStrategy {
      readonly name = 'newest';
      readonly scoreMeaning = 'registered at, in milliseconds; more is better';
      compare(one: Assessment, other: Assessment): number {
        return Date.parse(other.record.registeredAt) - Date.parse(one.record.registeredAt);
      }
      score({ record }: Assessment): number {
        return Date.parse(record.registeredAt);
      }
      reason(): string {
        return 'newer than the rest';
      }
    }
    const agents = [{ agentId: 'old' }, { agentId: 'young', registeredAt: '2026-02-24T10:20:00Z' }];
    const { ranker } = rankerOf(agents, new Strategies([...defaultStrategies(), new NewestStrategy()]));
    expect(ids(ranker.rank({ prefer: 'newest' }, NOW))).toEqual(['young', 'old']);
    expect(() => new Strategies([new NewestStrategy(), new NewestStrategy()])).toThrow('Two strategies');
  });

  it('rejects invalid limits and capabilities', () => {
    const { ranker } = rankerOf([]);
    const expectInvalid = (query: AgentQuery): unknown =>
      expect(() => ranker.rank(query, NOW)).toThrow(InvalidQueryError);
    for (const limit of [0, -1, 1.5, 101, NaN]) expectInvalid({ limit });
    expectInvalid({ capabilities: [' '] });
    expectInvalid({ capabilities: ['.'] });
    expectInvalid({ capabilities: Array.from({ length: 33 }, (_, at) => `c${at}`) });
  });
});

describe('round-robin', () => {
  const first = (ranker: Ranker, query: AgentQuery = {}): string =>
    ids(ranker.rank({ capabilities: ['build'], prefer: 'round-robin', ...query }, NOW))[0];

  it('S3.7 round-robin ranks each agent first equally often', () => {
    const { ranker } = rankerOf(['a', 'b', 'c', 'd'].map((agentId) => ({ agentId })));
    const firsts = Array.from({ length: 12 }, () => first(ranker));
    expect(firsts.join('')).toBe('abcdabcdabcd');
  });

  it('S3.7 round-robin neither skips nor repeats an agent when agents join and leave', () => {
    const { ranker, directory } = rankerOf(['b', 'd', 'f'].map((agentId) => ({ agentId })));
    expect([first(ranker), first(ranker)]).toEqual(['b', 'd']);
    directory.remove('d', { generation: 1, revision: 1 }, NOW);
    directory.upsert(given.entry({ agentId: 'a' }), NOW);
    directory.upsert(given.entry({ agentId: 'e' }), NOW);
    expect(Array.from({ length: 5 }, () => first(ranker))).toEqual(['e', 'f', 'a', 'b', 'e']);
  });

  it('S3.7 round-robin rotates separately for each query, and different spellings of a query are one query', () => {
    const { ranker } = rankerOf(['a', 'b'].map((agentId) => ({ agentId })));
    expect(first(ranker)).toBe('a');
    expect(first(ranker, { filter: { sandboxLevel: 1 } })).toBe('a');
    expect(first(ranker, { capabilities: ['BUILD'], limit: 5 })).toBe('b');
  });

  it('S3.7 round-robin rotates only among ready agents', () => {
    const agents = [{ agentId: 'a', ratio: 1 }, { agentId: 'b' }, { agentId: 'c' }];
    const { ranker } = rankerOf(agents);
    expect(Array.from({ length: 3 }, () => first(ranker))).toEqual(['b', 'c', 'b']);
  });
});

describe('explanations', () => {
  const AGENTS: EntryOverrides[] = [
    { agentId: 'good' },
    { agentId: 'drained', desiredState: 'draining' },
    { agentId: 'broken', circuit: OPEN, remaining: 0, totalTokens: 10 },
    { agentId: 'planner', capabilities: ['plan'] },
  ];

  it('B1 lists each excluded agent with its reasons and what would make it eligible, fewest reasons first', () => {
    const { excluded, excludedTotal } = rankerOf(AGENTS).ranker.rank({ capabilities: ['build'], explain: true }, NOW);
    expect(excludedTotal).toBe(2);
    expect(excluded?.map(({ agentId, exclusions }) => [agentId, exclusions.map(({ code }) => code)])).toEqual([
      ['drained', ['draining']],
      ['broken', ['circuit_open', 'budget_exhausted']],
    ]);
    expect(excluded?.[0].exclusions[0].eligibleWhen.text).toBe('an operator resumes it');
  });

  it('B1 explains the exclusion of agents that lack a required capability or have an unwanted one', () => {
    const query = { capabilities: { all: ['build', 'plan'], none: ['test'] }, explain: true };
    const agents = [...AGENTS, { agentId: 'tester', capabilities: ['build', 'plan', 'test'] }];
    const { excluded } = rankerOf(agents).ranker.rank(query, NOW);
    const codes = Object.fromEntries(
      (excluded ?? []).map(({ agentId, exclusions }) => [agentId, exclusions.map(({ code }) => code)]),
    );
    expect(codes).toMatchObject({
      good: ['capability_missing'],
      planner: ['capability_missing'],
      tester: ['capability_unwanted'],
    });
  });

  it('B1 lists a limited number of excluded agents and counts all of them', () => {
    const agents = Array.from({ length: 80 }, (_, at) => ({ agentId: `a${at}`, desiredState: 'draining' as const }));
    const { excluded, excludedTotal } = rankerOf(agents).ranker.rank({ explain: true }, NOW);
    expect([excluded?.length, excludedTotal]).toEqual([50, 80]);
  });

  it('B1 names the capabilities that no agent claims, with similar claimed capabilities', () => {
    const { unclaimed } = rankerOf(AGENTS).ranker.rank({ capabilities: ['biuld', 'buil'], explain: true }, NOW);
    expect(unclaimed).toContainEqual({ capability: 'buil', similar: ['build'] });
  });

  it('B7 says where one agent is, however many others there are, or why it is excluded', () => {
    const many = Array.from({ length: 80 }, (_, at) => ({ agentId: `m${at + 10}` }));
    const { ranker } = rankerOf([...AGENTS, ...many]);
    const about = (agentId: string, capability = 'build'): unknown =>
      ranker.rank({ capabilities: [capability], explain: true, about: agentId, limit: 1 }, NOW).about;
    expect(about('good')).toMatchObject({ agentId: 'good', rank: 1, exclusions: [] });
    expect(about('m89')).toMatchObject({ rank: 81, reasons: ['api, price unknown', 'unlimited tokens'] });
    expect(about('broken')).toMatchObject({ rank: null, exclusions: [{ code: 'circuit_open' }, {}] });
    expect(about('planner')).toMatchObject({ rank: null, exclusions: [{ code: 'capability_missing' }] });
    expect(about('good', 'paint')).toMatchObject({ rank: null, exclusions: [{ code: 'capability_missing' }] });
    expect(about('nobody')).toMatchObject({ rank: null, exclusions: [{ code: 'left' }] });
  });

  it('S3.7 an explanation does not advance the rotation of round-robin', () => {
    const { ranker } = rankerOf([{ agentId: 'a' }, { agentId: 'b' }]);
    const first = (explain: boolean): string =>
      ids(ranker.rank({ prefer: 'round-robin', explain, about: explain ? 'b' : undefined }, NOW))[0];
    expect([first(true), first(false), first(true), first(true), first(false)]).toEqual(['a', 'a', 'b', 'b', 'b']);
  });

  it('B1 omits explanations unless the query asks for them', () => {
    expect(rankerOf(AGENTS).ranker.rank({}, NOW)).not.toHaveProperty('excluded');
  });

  it('S3.8 a ranking contains the time to wait if all matching circuits are open', () => {
    const later = { ...OPEN, openUntil: NOW + 9_000 };
    const agents = [
      { agentId: 'a', circuit: later },
      { agentId: 'b', circuit: OPEN },
      { agentId: 'c', circuit: { ...OPEN, openUntil: NOW + 1 }, desiredState: 'draining' as const },
    ];
    const { ranker } = rankerOf(agents);
    expect(ranker.rank({ capabilities: ['build'] }, NOW)).toMatchObject({ candidates: [], retryAfterMs: 4_000 });
    const { candidates, retryAfterMs } = ranker.rank({ capabilities: ['build'] }, NOW + 4_000);
    expect([candidates[0].marks, retryAfterMs]).toEqual([['probe'], null]);
  });

  it('S3.8 a ranking contains no time to wait if waiting does not help', () => {
    const agents = [{ agentId: 'a', desiredState: 'quarantined' as const }];
    expect(rankerOf(agents).ranker.rank({}, NOW).retryAfterMs).toBeNull();
    const filtered = { filter: { sandboxLevel: 3 } };
    expect(rankerOf([{ circuit: OPEN }]).ranker.rank(filtered, NOW).retryAfterMs).toBeNull();
  });
});
