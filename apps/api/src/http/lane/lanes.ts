import { LRUCache } from 'lru-cache';
import type { AuthGuard } from '../../auth/auth.guard.js';
import type { Permission } from '../../auth/permissions.js';
import type { Principal } from '../../auth/principal.js';
import type { Lifecycle } from '../../health/lifecycle.js';
import type { HttpMetrics, RouteTimer } from '../../telemetry/http.metrics.js';
import type { Answer } from '../answer.js';
import type { Gateway } from '../gateway.js';
import type { RequestLog } from '../request.log.js';

export interface LaneRoute {
  /** As the ordinary route has it, with one `:id` or none. */
  url: string;
  permission: Permission;
  /** Whether callers send the same bodies over and over, so that one that was read is worth remembering. */
  repeats?: boolean;
  handle(id: string, body: unknown, principal: Principal, answer: Answer): unknown;
}

export interface UnderWay {
  readonly startedAt: number;
  fail(error: unknown): void;
}

export interface LaneParts {
  guard: AuthGuard;
  lifecycle: Lifecycle;
  metrics: HttpMetrics;
  log: RequestLog;
  gateway: Gateway;
  /** How long a request may be worked on before it is answered for its handler. */
  limitMs: number;
  /** The requests that are not answered yet, the oldest first. */
  underWay: Set<UnderWay>;
}

export interface Lane extends LaneRoute {
  before: string;
  after: string | undefined;
  timer: RouteTimer;
  /** Bodies that were read before, by their bytes. */
  bodies?: LRUCache<string, object>;
}

const BODIES_REMEMBERED_BYTES = 4 * 1_024 * 1_024;
const PLAIN_ID = /^[A-Za-z0-9][\w.:-]{0,127}$/;

/** The routes of the lane, by address. */
export class Lanes {
  private readonly lanes: Lane[];

  constructor(metrics: HttpMetrics, routes: readonly LaneRoute[]) {
    this.lanes = routes.map((route) => {
      const [before = '', after] = route.url.split(':id');
      const timer = metrics.timerOf('POST', route.url);
      return { ...route, before, after, timer, bodies: route.repeats ? rememberedBodies() : undefined };
    });
  }

  find(url: string): { lane: Lane; id: string } | undefined {
    for (const lane of this.lanes) {
      const id = idIn(url, lane);
      if (id !== undefined) return { lane, id };
    }
    return undefined;
  }
}

function rememberedBodies(): LRUCache<string, object> {
  return new LRUCache({ maxSize: BODIES_REMEMBERED_BYTES, sizeCalculation: (_, bytes) => bytes.length });
}

/** The id in an address of this lane; empty for a lane without one, undefined for other addresses. */
function idIn(url: string, { before, after }: Lane): string | undefined {
  if (after === undefined) return url === before ? '' : undefined;
  if (!url.startsWith(before) || !url.endsWith(after)) return undefined;
  const id = url.slice(before.length, url.length - after.length);
  return PLAIN_ID.test(id) ? id : undefined;
}
