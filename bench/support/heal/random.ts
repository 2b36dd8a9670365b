/** Numbers from 0 to 1 that are the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = Math.trunc(state + 0x6d2b79f5);
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The same elements in random order. */
export function shuffled<T>(elements: readonly T[], random: () => number): T[] {
  return elements
    .map((element) => ({ element, place: random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ element }) => element);
}
