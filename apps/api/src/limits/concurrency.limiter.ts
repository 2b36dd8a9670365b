import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { ApiError } from '../http/problems/api.error.js';
import type { RequestKind } from '../http/server/routes.js';

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

const HELD = Symbol('held');

interface Held {
  limiter: ConcurrencyLimiter;
  caller: ConcurrentCaller;
  slots: Slots;
  kind: RequestKind;
  onRelease?: () => void;
}

type Holder = ServerResponse & { [HELD]?: Held };

/**
 * A request holds a slot of its caller until its response is sent: a client that closes the connection early does not free a slot
 * while the server still processes the request. A stream also holds its slot until its connection is closed, and so does a wait,
 * which may report its progress as a stream.
 */
export function holdSlot(
  reply: FastifyReply,
  limiter: ConcurrencyLimiter,
  caller: ConcurrentCaller,
  kind: RequestKind,
  onRelease?: () => void,
): void {
  const response: Holder = reply.raw;
  response[HELD] = { limiter, caller, slots: limiter.acquire(caller, kind), kind, onRelease };
  if (kind !== 'requests') response.on('close', onClose);
}

/** Counts a wait as a stream from now on. Rejects if the caller has too many streams; the request then still counts as a wait. */
export function becomeStream(reply: FastifyReply): void {
  const held = (reply.raw as Holder)[HELD];
  if (held?.kind !== 'waits') return;
  held.limiter.acquire(held.caller, 'streams');
  held.slots.waits -= 1;
  held.kind = 'streams';
}

/** Call this when the response to a request is sent, even if the client has closed the connection. */
export function releaseOnAnswer(reply: FastifyReply): void {
  const response: Holder = reply.raw;
  if (response[HELD]?.kind === 'requests' || response.closed) release(response);
}

/** If no response was sent, the client closed the connection, and the slot is held until the request is processed. */
function onClose(this: Holder): void {
  if (this.headersSent) release(this);
}

function release(response: Holder): void {
  const held = response[HELD];
  if (!held) return;
  response[HELD] = undefined;
  held.slots[held.kind] -= 1;
  held.onRelease?.();
}
