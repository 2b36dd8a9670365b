/** A separate process that spends from budgets, like a replica. The test may kill it at any time. */
import { Database } from '#rollcall/platform';
import { given } from './given.js';
import { testBudgets } from './test-budgets.js';

export type WorkerOrder =
  /** Reserve this many times at the same time, and reply with the number of granted reservations. */
  | { do: 'reserve'; times: number; tokens: number }
  /** Reserve, reply with the key, and never settle, so that the test can kill the process while it holds a reservation. */
  | { do: 'hang'; tokens: number; ttlMs: number };

export type WorkerReply =
  { ready: true } | { granted: number; refused: number; faults: string[] } | { holding: string };

const db = new Database({ url: process.argv[2] ?? '', poolSize: 4, operationTimeoutMs: 20_000 });
const { ledger } = await testBudgets(db);
const send = (reply: WorkerReply): void => void process.send?.(reply);

async function reserve(times: number, tokens: number): Promise<void> {
  const results = await Promise.allSettled(
    Array.from({ length: times }, async () => await ledger.reserve(given.reservation(tokens))),
  );
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [(result.reason as { code?: string }).code ?? String(result.reason)] : [],
  );
  const faults = failures.filter((code) => code !== 'BUDGET_EXHAUSTED');
  send({ granted: times - failures.length, refused: failures.length - faults.length, faults });
}

process.on('message', (order: WorkerOrder) => {
  if (order.do === 'reserve') void reserve(order.times, order.tokens);
  else
    void ledger
      .reserve(given.reservation(order.tokens, { ttlMs: order.ttlMs }))
      .then(({ key }) => send({ holding: key }));
});
process.on('disconnect', () => process.exit());
send({ ready: true });
