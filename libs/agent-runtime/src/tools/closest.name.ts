/** Names longer than this are not compared, because the comparison takes time in proportion to both lengths. */
const MAX_COMPARED = 128;

/** Returns ` (did you mean x?)`, or an empty text if no known name is similar. */
export function suggestion(name: string, known: Iterable<string>): string {
  const closest = closestName(name, known);
  return closest === undefined ? '' : ` (did you mean ${closest}?)`;
}

/** Returns the known name with the fewest differences, if the difference is small enough for a typing error. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > MAX_COMPARED) return undefined;
  const wanted = simplified(name);
  let closest: string | undefined;
  let fewest = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of known) {
    const count = differences(wanted, simplified(candidate));
    if (count >= fewest) continue;
    fewest = count;
    closest = candidate;
  }
  return closest;
}

/** `httpFetch`, `http-fetch` and `http_fetch` are the same name for a human. */
function simplified(name: string): string {
  return name.toLowerCase().replaceAll(/[_-]/g, '');
}

/** The number of inserted, removed, replaced or swapped characters: the optimal string alignment distance. */
function differences(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? (beforeLast[j - 2] ?? 0) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
