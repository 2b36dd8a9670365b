import { EVENT_SUBJECTS, EVENT_TYPES, type RegistryEvent } from './event.types.js';
import { agentOf, type EventFilter, matcherOf, typesMeant } from './event.filter.js';

const base = { seq: 1, id: '0b7f4f5c-6f0e-4f4f-9a55-3f1f2a0c9d11', at: new Date(0), capabilities: ['code', 'review'] };
const left: RegistryEvent = {
  ...base,
  type: 'agent.left',
  subject: 'a-1',
  data: { generation: 1, reason: 'evicted' },
};
const started: RegistryEvent = { ...base, type: 'run.started', subject: 'run-1', data: { agentId: 'a-2' } };

const matches = (filter: EventFilter, event: RegistryEvent): boolean => matcherOf(filter)(event);

describe('an event filter', () => {
  it('lets everything pass when it asks for nothing', () => {
    expect([matches({}, left), matches({}, started)]).toEqual([true, true]);
  });

  it('chooses by name, by family, and by several of both', () => {
    expect(matches({ types: ['agent.left'] }, left)).toBe(true);
    expect(matches({ types: ['agent.*'] }, left)).toBe(true);
    expect(matches({ types: ['agent.*'] }, started)).toBe(false);
    expect(matches({ types: ['agent.joined', 'run.*'] }, started)).toBe(true);
    expect(matches({ types: ['agent.lef'] }, left)).toBe(false);
  });

  it('chooses by the agent concerned, also when the subject is a run of it', () => {
    expect(matches({ agentIds: ['a-1'] }, left)).toBe(true);
    expect(matches({ agentIds: ['a-2'] }, started)).toBe(true);
    expect(matches({ agentIds: ['run-1'] }, started)).toBe(false);
  });

  it('chooses by any of the capabilities named, and all of its parts must hold', () => {
    expect(matches({ capabilities: ['review', 'draw'] }, left)).toBe(true);
    expect(matches({ capabilities: ['draw'] }, left)).toBe(false);
    expect(matches({ capabilities: ['review'], agentIds: ['a-2'] }, left)).toBe(false);
  });
});

describe('the map of events', () => {
  it('has families that are all reachable by their star', () => {
    const families = [...new Set(EVENT_TYPES.map((type) => `${type.split('.')[0]}.*`))];
    expect(families.flatMap(typesMeant).toSorted()).toEqual(EVENT_TYPES.toSorted());
    expect(typesMeant('nothing.*')).toEqual([]);
  });

  it('knows no agent in what is about the registry itself', () => {
    expect(EVENT_SUBJECTS['protection.left']).toBe('registry');
    const event: RegistryEvent = { ...base, type: 'protection.left', subject: 'registry', data: { fleet: 9 } };
    expect(agentOf(event)).toBeUndefined();
  });
});
