import { addMany, placesIn, write } from './body-mutations.js';
import type { Operation } from './openapi.js';
import { Random } from './random.js';
import { rawJson } from './slots.js';
import { validRequest } from './valid-request.js';

const LONG = 120_000;

/** Values that caused faults before. Every field of every body gets each of them once. */
const VALUES: Record<string, unknown> = {
  'long spaces': `a${' '.repeat(LONG)}!`,
  'long dots': ' . '.repeat(LONG / 3),
  'long digits': '1'.repeat(LONG),
  'long letters': 'a'.repeat(LONG),
  NUL: 'a\0b',
  'half a surrogate pair': 'a\ud800',
  'inherited name': 'constructor',
  'inherited fields': { toString: 1, hasOwnProperty: 1 },
  'huge number': rawJson('1e400'),
  'inexact number': rawJson('9007199254740993'),
  'negative number': rawJson('-1'),
  null: null,
  array: [[], {}],
};
const MANY_KEYS = 'many keys';

export interface SweepStep {
  operation: Operation;
  /** The index of a place in a body with all its fields. */
  place: number;
  /** The name of the value. */
  value: string;
}

/** Each value at each place of each body, in an order that depends on the seed. */
export function sweepOf(random: Random, operations: readonly Operation[]): SweepStep[] {
  const steps = operations
    .filter(({ body }) => body !== undefined)
    .flatMap((operation) => {
      const places = placesIn({ root: validRequest(new Random(1), operation, 1).body }).map((_, place) => place);
      return places.flatMap((place) =>
        [...Object.keys(VALUES), MANY_KEYS].map((value) => ({ operation, place, value })),
      );
    });
  return steps
    .map((step) => ({ step, order: random.next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ step }) => step);
}

export function sweptBody(random: Random, { place, value }: SweepStep, body: unknown): unknown {
  const holder = { root: body };
  const places = placesIn(holder);
  const target = places[place % places.length];
  if (!target) return body;
  if (value === MANY_KEYS) addMany(target, random);
  else write(target, VALUES[value]);
  return holder.root;
}
