import * as fc from 'fast-check';
import { DEFAULT_LOW_BUDGET } from '../../budgets/budget.js';
import { given } from '../../testing/given.js';
import { Listing } from '../directory/listing.js';
import { assess } from '../ranking/assessment.js';
import { walkThrough } from '../ranking/search.js';
import { LeastLoadedStrategy } from '../ranking/strategies.js';
import { CapabilityIndex } from './capability.index.js';
import type { OrderedList } from './ordered.list.js';

const STRATEGY = new LeastLoadedStrategy();

function anAssessment(number: number, load: number) {
  const agentId = `agent-${String(number).padStart(4, '0')}`;
  // No agent is saturated below a ratio of 1. A load of 9 means that the agent is not routable.
  const desiredState = load === 9 ? ('draining' as const) : ('active' as const);
  return assess(given.entry({ agentId, ratio: load / 10, desiredState }), 0, DEFAULT_LOW_BUDGET);
}

function makeListing(number: number, load: number): Listing {
  return new Listing(given.entry(), ['build'], anAssessment(number, load), 0);
}

function read(order: OrderedList): string[] {
  const walk = walkThrough([order], undefined);
  const found: string[] = [];
  for (let next = walk.next(); next; next = walk.next()) found.push(next.agentId);
  return found;
}

const sorted = (listings: Iterable<Listing>): string[] =>
  [...listings]
    .filter(({ assessment }) => assessment.routable)
    .toSorted((a, b) => a.assessment.load - b.assessment.load || (a.agentId < b.agentId ? -1 : 1))
    .map(({ agentId }) => agentId);

const SIZE = 700;
const load = fc.nat(9);
const change = fc.record({
  number: fc.nat(SIZE - 1),
  load,
  kind: fc.constantFrom('reassess', 'reassess', 'reassess', 'leave', 'join'),
});

describe('an ordered list', () => {
  it('S3.6 an ordered list has the same order as a sort of all agents, after few or many changes', () => {
    const bursts = fc.array(fc.array(change, { maxLength: 250 }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(load, { minLength: SIZE, maxLength: SIZE }), bursts, (loads, all) => {
        const index = new CapabilityIndex();
        const listed = new Map<number, Listing>();
        const join = (number: number, busy: number): void => {
          const listing = makeListing(number, busy);
          listed.set(number, listing);
          index.add(listing);
        };
        loads.forEach((busy, number) => join(number, busy));
        const order = index.allAgents().order(STRATEGY);
        expect(read(order)).toEqual(sorted(listed.values()));
        for (const burst of all) {
          for (const { number, load: busy, kind } of burst) {
            const listing = listed.get(number);
            if (!listing) join(number, busy);
            else if (kind === 'reassess') index.reassess(listing, anAssessment(number, busy));
            else {
              index.remove(listing);
              listed.delete(number);
              if (kind === 'join') join(number, busy);
            }
          }
          expect(read(order)).toEqual(sorted(listed.values()));
        }
      }),
      { numRuns: 60 },
    );
  });
});
