/** A seeded generator of numbers from 0 to 1 (mulberry32), so that every run with the same seed makes the same choices. */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the elements in random order. */
export function shuffled<T>(elements: readonly T[], random: () => number): T[] {
  return elements
    .map((element) => ({ element, order: random() }))
    .toSorted((one, other) => one.order - other.order)
    .map(({ element }) => element);
}
