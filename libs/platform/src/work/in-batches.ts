/**
 * Repeats a pass that handles at most `limit` rows in one short transaction, until a pass handles fewer rows. Returns how
 * many rows all passes handled.
 */
export async function inBatches(limit: number, pass: (limit: number) => Promise<number>): Promise<number> {
  let total = 0;
  for (let handled = limit; handled === limit; total += handled) handled = await pass(limit);
  return total;
}
