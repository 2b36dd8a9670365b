import { ApiError } from './api.error.js';
import type { RequestKind } from './route.limits.js';

const CALLERS_REMEMBERED = 100_000;
const RETRY_AFTER_MS = 1_000;

/** How many requests of one caller this replica works on. */
export type Places = Record<RequestKind, number>;

/** A caller whose concurrent requests are counted. */
export interface Occupant {
  readonly id: string;
  /** Kept at hand, because a look-up among many callers costs more than the count itself. */
  places?: Places;
}

/** Limits how many requests of one caller this replica works on at the same time. A limit of 0 is no limit. */
export class ConcurrencyLimiter {
  private readonly callers = new Map<string, Places>();

  constructor(private readonly limits: Places) {}

  /** The caller of this function counts `places[kind]` down when the request is over. */
  enter(caller: Occupant, kind: RequestKind): Places {
    const places = (caller.places ??= this.placesOf(caller.id));
    const limit = this.limits[kind];
    if (limit > 0 && places[kind] >= limit) throw tooMany(kind, limit);
    places[kind] += 1;
    return places;
  }

  private placesOf(id: string): Places {
    const known = this.callers.get(id);
    if (known) return known;
    if (this.callers.size >= CALLERS_REMEMBERED) this.forgetIdle();
    const places = { requests: 0, streams: 0 };
    this.callers.set(id, places);
    return places;
  }

  private forgetIdle(): void {
    for (const [id, { requests, streams }] of this.callers) {
      if (requests === 0 && streams === 0) this.callers.delete(id);
    }
  }
}

const WHAT: Record<RequestKind, string> = {
  requests: 'requests at the same time',
  streams: 'streams, long polls and large reads at the same time',
};

function tooMany(kind: RequestKind, limit: number): ApiError {
  const detail = `This replica works on at most ${limit} ${WHAT[kind]} for you. Wait for an answer before you send more.`;
  return new ApiError('TOO_MANY_CONCURRENT_REQUESTS', detail, { retryAfterMs: RETRY_AFTER_MS });
}
