import { EventCatalog, type EventFilter } from './event.catalog.js';
import type { RegistryEvent, SubjectKind } from './event.js';

/** A small catalog for this test. */
const SUBJECTS = {
  'agent.left': 'agent',
  'agent.joined': 'agent',
  'budget.low': 'budget',
  'protection.left': 'registry',
} as Record<RegistryEvent['type'], SubjectKind>;
const catalog = new EventCatalog(SUBJECTS);
const base = {
  seq: 1,
  id: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11',
  namespace: 'team-a',
  at: new Date(0),
  capabilities: ['code', 'review'],
};
const left: RegistryEvent = {
  ...base,
  type: 'agent.left',
  subject: 'a-1',
  data: { generation: 1, reason: 'evicted' },
};
const low: RegistryEvent = {
  ...base,
  type: 'budget.low',
  subject: 'budget-1',
  data: { kind: 'agent', of: 'a-2', agentId: 'a-2', window: 'total', unit: 'tokens', limit: 9, remaining: 1 },
};

const matches = (filter: EventFilter, event: RegistryEvent): boolean => catalog.matcherOf(filter)(event);

describe('an event filter', () => {
  it('matches every event when it is empty', () => {
    expect([matches({}, left), matches({}, low)]).toEqual([true, true]);
  });

  it('matches by type, by family of types, and by a list of both', () => {
    expect(matches({ types: ['agent.left'] }, left)).toBe(true);
    expect(matches({ types: ['agent.*'] }, left)).toBe(true);
    expect(matches({ types: ['agent.*'] }, low)).toBe(false);
    expect(matches({ types: ['agent.joined', 'budget.*'] }, low)).toBe(true);
    expect(matches({ types: ['agent.lef'] }, left)).toBe(false);
  });

  it('matches by agent, even when the subject of the event is a budget of the agent', () => {
    expect(matches({ agentIds: ['a-1'] }, left)).toBe(true);
    expect(matches({ agentIds: ['a-2'] }, low)).toBe(true);
    expect(matches({ agentIds: ['budget-1'] }, low)).toBe(false);
  });

  it('matches by namespace', () => {
    expect(matches({ namespaces: ['team-a', '*'] }, left)).toBe(true);
    expect(matches({ namespaces: ['team-b', '*'] }, left)).toBe(false);
    expect(matches({ namespaces: ['team-b'], agentIds: ['a-1'] }, left)).toBe(false);
    expect(matches({ namespaces: [] }, left)).toBe(false);
  });

  it('an expired event matches every filter of its namespace', () => {
    const expired: RegistryEvent = { ...base, capabilities: [], type: 'event.expired', subject: 'team-a', data: {} };
    expect(matches({ types: ['agent.left'], agentIds: ['a-1'], capabilities: ['code'] }, expired)).toBe(true);
    expect(matches({ namespaces: ['team-a'], types: ['agent.left'] }, expired)).toBe(true);
    expect(matches({ namespaces: ['team-b'] }, expired)).toBe(false);
  });

  it('matches any of several capabilities, and requires that all its conditions match', () => {
    expect(matches({ capabilities: ['review', 'draw'] }, left)).toBe(true);
    expect(matches({ capabilities: ['draw'] }, left)).toBe(false);
    expect(matches({ capabilities: ['review'], agentIds: ['a-2'] }, left)).toBe(false);
  });
});

describe('an event catalog', () => {
  it('selects every type by the wildcard of its family', () => {
    const families = [...new Set(catalog.types.map((type) => `${type.split('.')[0]}.*`))];
    expect(families.flatMap((family) => catalog.select(family)).toSorted()).toEqual(catalog.types.toSorted());
    expect(catalog.select('nothing.*')).toEqual([]);
  });

  it('finds no agent in an event about the registry itself', () => {
    const event: RegistryEvent = { ...base, type: 'protection.left', subject: 'registry', data: { fleet: 9 } };
    expect(catalog.agentOf(event)).toBeUndefined();
  });
});
