import type { FuzzServer } from './fuzz.server.js';
import type { Fuzzer } from './fuzzer.js';
import type { HeapReport } from './heap.watch.js';
import type { Operation } from './openapi.js';
import type { Report } from './report.js';

export interface FuzzRun {
  server: FuzzServer;
  report: Report;
  fuzzer: Fuzzer;
  operations: Operation[];
}

/** Up to this many 503 responses that do not repeat are attributed to a busy machine. */
const MAX_UNAVAILABLE = 20;
const MAX_UNAVAILABLE_SHARE = 0.01;

export interface Summary {
  sent: number;
  statuses: Record<string, number>;
  codes: Record<string, number>;
  lateOnce: number;
  unavailableOnce: number;
  brokenPipeOnce: number;
  heap: HeapReport;
  /** Operations without a 2xx response: their handlers may not have been reached. */
  unreached: string[];
  faults: number;
}

/** Reports faults of the whole server, prints the number of each fault, and returns the summary. */
export function summarise({ server, report, fuzzer, operations }: FuzzRun, heap: HeapReport): Summary {
  const { sent, statuses, codes, lateOnce, unavailableOnce, brokenPipeOnce, inFlight, succeeded } = fuzzer;
  if (server.exited !== undefined) {
    const answer = `cases in flight: ${[...inFlight].join(', ')}; ${server.exited}`;
    report.addGlobal({ kind: 'exit', detail: '', answer });
  }
  if (heap.grows) report.addGlobal({ kind: 'heap-growth', detail: '', answer: JSON.stringify(heap) });
  if (unavailableOnce > Math.max(MAX_UNAVAILABLE, sent * MAX_UNAVAILABLE_SHARE))
    report.addGlobal({ kind: 'server-error', detail: '503', answer: `${unavailableOnce} of ${sent} answers are 503` });
  reportLoggedErrors(server, report);
  report.printCounts();
  const unreached = operations.map(({ id }) => id).filter((id) => !succeeded.has(id));
  const once = { lateOnce, unavailableOnce, brokenPipeOnce };
  return { sent, statuses, codes, ...once, heap, unreached, faults: report.faults.length };
}

/** Reports errors of background work. Errors of requests are reported with the request, and a slow database by its 503s. */
function reportLoggedErrors(server: FuzzServer, report: Report): void {
  for (const { event = '', msg = '', err, requestId } of server.errors) {
    if (requestId !== undefined || err?.code?.startsWith('DATABASE_')) continue;
    const message = err?.message ?? msg;
    const answer = `${err?.type ?? ''}: ${message} ${err?.stack ?? ''}`.slice(0, 1_500);
    report.addGlobal({ kind: 'logged-error', detail: `${event} ${message.slice(0, 80)}`, answer });
  }
}
