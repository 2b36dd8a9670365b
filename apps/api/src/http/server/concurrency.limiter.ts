import { ApiError } from '../problems/api.error.js';
import type { RequestKind } from './routes.js';

const MAX_CALLERS = 100_000;
const RETRY_AFTER_MS = 1_000;

/** The number of requests in progress of one caller on this replica. */
export type Slots = Record<RequestKind, number>;

/** A caller whose concurrent requests are counted. */
export interface ConcurrentCaller {
  readonly id: string;
  /** The counts of this caller. They are stored here to avoid a map look-up for each request. */
  slots?: Slots;
}

/** Limits how many requests of one caller this replica processes at the same time. A limit of 0 disables the check. */
export class ConcurrencyLimiter {
  private readonly callers = new Map<string, Slots>();

  constructor(private readonly limits: Slots) {}

  /** Decrement `slots[kind]` of the result when the request ends. */
  acquire(caller: ConcurrentCaller, kind: RequestKind): Slots {
    const slots = (caller.slots ??= this.slotsOf(caller.id));
    const limit = this.limits[kind];
    if (limit > 0 && slots[kind] >= limit) throw tooMany(kind, limit);
    slots[kind] += 1;
    return slots;
  }

  private slotsOf(id: string): Slots {
    const known = this.callers.get(id);
    if (known) return known;
    if (this.callers.size >= MAX_CALLERS) this.removeIdle();
    const slots = { requests: 0, streams: 0, waits: 0 };
    this.callers.set(id, slots);
    return slots;
  }

  private removeIdle(): void {
    for (const [id, { requests, streams, waits }] of this.callers) {
      if (requests === 0 && streams === 0 && waits === 0) this.callers.delete(id);
    }
  }
}

const KIND_TEXT: Record<RequestKind, { limited: string; advice: string }> = {
  requests: { limited: 'requests', advice: 'Wait for a response before you send more.' },
  streams: {
    limited: 'streams, WebSockets, long polls and large reads',
    advice: 'Close one of them before you open another, or share one stream.',
  },
  waits: {
    limited: 'requests that wait for runs',
    advice: 'Wait for a response before you send more, or start runs without waiting and follow one event stream.',
  },
};

function tooMany(kind: RequestKind, limit: number): ApiError {
  const { limited, advice } = KIND_TEXT[kind];
  const detail = `This replica accepts at most ${limit} ${limited} from you at the same time. ${advice}`;
  return new ApiError('TOO_MANY_CONCURRENT_REQUESTS', detail, { retryAfterMs: RETRY_AFTER_MS });
}
