import { Database } from '#rollcall/platform';
/** A process of its own that spends from budgets: a replica in a storm, which may be killed at any moment. */
import { aReserveRequest, testBudgets } from './test-budgets.js';

export type WorkerOrder =
  /** Reserve this many times at once; answer how many were granted. */
  | { do: 'reserve'; times: number; tokens: number }
  /** Reserve, tell the key, and never settle: to be killed in between. */
  | { do: 'hang'; tokens: number; ttlMs: number };

export type WorkerReply =
  { ready: true } | { granted: number; refused: number; faults: string[] } | { holding: string };

const db = new Database({ url: process.argv[2] ?? '', poolSize: 4, operationTimeoutMs: 20_000 });
const { ledger } = await testBudgets(db);
const say = (word: WorkerReply): void => void process.send?.(word);

async function reserve(times: number, tokens: number): Promise<void> {
  const results = await Promise.allSettled(
    Array.from({ length: times }, async () => await ledger.reserve(aReserveRequest(tokens))),
  );
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [(result.reason as { code?: string }).code ?? String(result.reason)] : [],
  );
  const faults = failures.filter((code) => code !== 'BUDGET_EXHAUSTED');
  say({ granted: times - failures.length, refused: failures.length - faults.length, faults });
}

process.on('message', (order: WorkerOrder) => {
  if (order.do === 'reserve') void reserve(order.times, order.tokens);
  else
    void ledger.reserve(aReserveRequest(order.tokens, { ttlMs: order.ttlMs })).then(({ key }) => say({ holding: key }));
});
process.on('disconnect', () => process.exit());
say({ ready: true });
